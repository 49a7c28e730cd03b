#include "src/report/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mask_spec.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> lines(const char* name, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  const MaskSpec mask = masks_from(name).front();
  return picture_of(Mask(mask.rule(), seqlen_q, seqlen_k), 16, 49).lines;
}

TEST(MaskPicture, OfASmallMaskHasACellForEveryPair) {
  EXPECT_THAT(lines("no_mask", 2, 3), ElementsAre("█ █ █", "█ █ █"));
  EXPECT_THAT(lines("top_left", 4, 3), ElementsAre("█ · ·", "█ █ ·", "█ █ █", "█ █ █"));
  EXPECT_THAT(lines("bottom_right", 4, 3), ElementsAre("· · ·", "█ · ·", "█ █ ·", "█ █ █"));
  EXPECT_THAT(lines("bottom_right", 2, 4), ElementsAre("█ █ █ ·", "█ █ █ █"));
  EXPECT_THAT(lines("top_left:1,0", 3, 3), ElementsAre("█ · ·", "█ █ ·", "· █ █"));
  EXPECT_THAT(lines("prefix:2", 3, 4), ElementsAre("█ █ · ·", "█ █ · ·", "█ █ █ ·"));
  EXPECT_THAT(lines("document:1,2", 4, 4), ElementsAre("█ · · ·", "· █ █ ·", "· █ █ ·", "· · · █"));
}

TEST(MaskPicture, OfALargeMaskShowsAllOfIt) {
  const MaskPicture picture = picture_of(Mask(kTopLeft.rule(), 64, 64), 4, 8);
  EXPECT_EQ(picture.queries_a_cell, 16);
  EXPECT_EQ(picture.keys_a_cell, 16);
  EXPECT_THAT(picture.lines, ElementsAre("▒ · · ·", "█ ▒ · ·", "█ █ ▒ ·", "█ █ █ ▒"));
}

TEST(MaskPicture, TellsACellWithOnePairFromAnEmptyOne) {
  // The diagonal runs from corner to corner of cells of 2 x 2; at right = 0 the last pair of a cell is seen.
  EXPECT_EQ(picture_of(Mask(masks_from("top_left:0,0").front().rule(), 4, 4), 2, 2).lines,
            (std::vector<std::string>{"▒ ·", "· ▒"}));
  // j = i + 1 alone: one pair of each cell beside the diagonal.
  EXPECT_EQ(picture_of(Mask(masks_from("generic:0,2").front().rule(), 4, 4), 2, 2).lines,
            (std::vector<std::string>{"▒ ▒", "· ▒"}));
}

TEST(MaskPicture, AgreesWithCountingPairs) {
  for (const char* name : {"no_mask", "top_left", "bottom_right", "top_left:3,1", "bottom_right:0,4",
                           "prefix:7", "document:5,9,2", "document_causal:5,9", "generic:-3,6"}) {
    const MaskSpec spec = masks_from(name).front();
    for (const auto& [queries, keys] : {std::pair(31, 17), std::pair(17, 40), std::pair(40, 40)}) {
      const Mask mask(spec.rule(), queries, keys);
      const MaskPicture picture = picture_of(mask, 7, 9);
      for (std::size_t line = 0; line < picture.lines.size(); ++line) {
        std::string expected;
        const std::int64_t q = static_cast<std::int64_t>(line) * picture.queries_a_cell;
        for (std::int64_t k = 0; k < keys; k += picture.keys_a_cell) {
          std::int64_t seen = 0;
          std::int64_t pairs = 0;
          for (std::int64_t i = q; i < std::min<std::int64_t>(q + picture.queries_a_cell, queries); ++i) {
            for (std::int64_t j = k; j < std::min<std::int64_t>(k + picture.keys_a_cell, keys); ++j) {
              ++pairs;
              seen += mask.visible(i, j) ? 1 : 0;
            }
          }
          expected += expected.empty() ? "" : " ";
          expected += seen == 0 ? "·" : seen == pairs ? "█" : "▒";
        }
        EXPECT_EQ(picture.lines[line], expected)
            << name << " " << queries << " x " << keys << " line " << line;
      }
    }
  }
}

TEST(MaskPicture, KeepsTheAspectAndAFewCellsOfEachSide) {
  const MaskPicture wide = picture_of(Mask(kNoMask.rule(), 128, 192), 16, 49);
  EXPECT_EQ(wide.queries_a_cell, 8);
  EXPECT_EQ(wide.keys_a_cell, 8);
  EXPECT_THAT(wide.lines, SizeIs(16));
  const MaskPicture flat = picture_of(Mask(kNoMask.rule(), 8, 16384), 16, 49);
  EXPECT_EQ(flat.queries_a_cell, 2);
  EXPECT_THAT(flat.lines, SizeIs(4));
  const MaskPicture tall = picture_of(Mask(kNoMask.rule(), 16384, 2), 16, 49);
  EXPECT_EQ(tall.keys_a_cell, 1);
  EXPECT_THAT(tall.lines, SizeIs(16));
}

TEST(MaskPicture, OfNothingHasNoLines) {
  EXPECT_THAT(lines("no_mask", 0, 5), IsEmpty());
  EXPECT_THAT(lines("no_mask", 5, 0), IsEmpty());
}

}  // namespace
}  // namespace fmha_bwd
