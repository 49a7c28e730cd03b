#include "base/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

MaskCounts counts_of(MaskKind kind, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  return count(Mask(kind, seqlen_q, seqlen_k));
}

TEST(Work, NoMaskHasEveryPairVisible) {
  const MaskCounts counts = counts_of(MaskKind::no_mask, 128, 192);
  EXPECT_EQ(counts.all_pairs, 24576);
  EXPECT_EQ(counts.visible_pairs, 24576);
  EXPECT_EQ(counts.density(), 1.0);
  EXPECT_EQ(counts.empty_rows, 0);
  EXPECT_EQ(counts.empty_keys, 0);
}

TEST(Work, BottomRight128x192Has16448VisiblePairs) {
  // 128 rows of 65 .. 192 keys: 128 * (65 + 192) / 2.
  const MaskCounts counts = counts_of(MaskKind::bottom_right, 128, 192);
  EXPECT_EQ(counts.visible_pairs, 16448);
  EXPECT_NEAR(counts.density(), 0.6693, 0.00005);
}

TEST(Work, DensitiesOf1024x4096AreTheKnownOnes) {
  EXPECT_NEAR(counts_of(MaskKind::bottom_right, 1024, 4096).density(), 0.87512, 0.000005);
  EXPECT_NEAR(counts_of(MaskKind::top_left, 1024, 4096).density(), 0.12512, 0.000005);
}

TEST(Work, BottomRight128x64Has64EmptyRows) {
  const MaskCounts counts = counts_of(MaskKind::bottom_right, 128, 64);
  EXPECT_EQ(counts.empty_rows, 64);
  EXPECT_EQ(counts.empty_keys, 0);
  EXPECT_EQ(counts.visible_pairs, 64 * 65 / 2);
}

TEST(Work, TopLeft384x512Has128EmptyKeys) {
  const MaskCounts counts = counts_of(MaskKind::top_left, 384, 512);
  EXPECT_EQ(counts.empty_keys, 128);
  EXPECT_EQ(counts.empty_rows, 0);
}

TEST(Work, CountsAMillionByAMillionInFull) {
  EXPECT_EQ(counts_of(MaskKind::no_mask, 1'000'000, 1'000'000).visible_pairs, 1'000'000'000'000);
  EXPECT_EQ(counts_of(MaskKind::top_left, 1'000'000, 1'000'000).visible_pairs, 500'000'500'000);
}

TEST(Work, ThreeProductsGoOverHdimQAndTwoOverHdimV) {
  Problem problem;
  problem.batch = 3;
  problem.nhead_q = 4;
  problem.nhead_k = 2;
  problem.hdim_q = 5;
  problem.hdim_v = 7;
  // 3 * 4 heads, 11 pairs, 3 * 2 * 5 + 2 * 2 * 7 operations a pair.
  EXPECT_EQ(backward_flops(problem, 11), 12.0 * 11.0 * 58.0);
}

TEST(Work, FlopsOfTheUsualBenchmarkShapeAreTenTimesItsPairsTimesHdim) {
  Problem problem;
  problem.batch = 4;
  problem.nhead_q = problem.nhead_k = 16;
  EXPECT_EQ(backward_flops(problem, std::int64_t{2048} * 2048), 343597383680.0);
}

}  // namespace
}  // namespace fmha_bwd
