#include "src/report/bench/mask_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/report/bench_sample.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

BenchCase masked(const std::string& mask, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  BenchCase item = sample_case(mask);
  item.mask = mask;
  item.seqlen_q = seqlen_q;
  item.seqlen_k = seqlen_k;
  return item;
}

std::vector<DrawnMask> drawn(const std::vector<BenchCase>& cases) {
  BenchReport report;
  report.runs.push_back({"", "", sample_results(cases)});
  return masks_drawn(report);
}

TEST(MaskPictures, AMaskIsDrawnOnceForShapesOverWhichItLooksTheSame) {
  const auto masks = drawn({masked("top_left", 64, 64), masked("top_left", 128, 128),
                            masked("top_left", 64, 64), masked("top_left", 2, 3), masked("no_mask", 2, 2)});
  ASSERT_THAT(masks, SizeIs(3));
  EXPECT_EQ(masks[0].picture.lines.size(), 32u);
  ASSERT_THAT(masks[0].shapes, SizeIs(2));
  EXPECT_EQ(masks[0].shapes[1].seqlen_q, 128);
  EXPECT_DOUBLE_EQ(masks[0].shapes[0].density, 0.625);  // 10 of 16
  EXPECT_THAT(masks[1].picture.lines, ElementsAre("█ · ·", "█ █ ·"));
  EXPECT_THAT(masks[2].picture.lines, ElementsAre("█ █", "█ █"));
}

TEST(MaskPictures, TheLargestSequenceStandsForAGroup) {
  BenchCase item = masked("bottom_right", 4, 9);
  item.seqlens_q = {1, 2, 4};
  item.seqlens_k = {9, 5, 1};
  EXPECT_THAT(drawn({item}).at(0).picture.lines, ElementsAre("█ █ █ █ ·", "█ █ █ █ █"));
}

TEST(MaskPictures, WhatCannotBeDrawnIsLeftOut) {
  EXPECT_THAT(drawn({masked("spiral", 4, 4), masked("no_mask,top_left", 4, 4), masked("top_left", 0, 4),
                     masked("top_left", -4, 4), masked("top_left", std::int64_t{1} << 40, 4)}),
              IsEmpty());
}

}  // namespace
}  // namespace fmha_bwd
