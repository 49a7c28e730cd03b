#include "base/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/mask_spec.h"

namespace fmha_bwd {
namespace {

MaskCounts counts_of(const MaskSpec& mask, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  return count(Mask(mask.rule(), seqlen_q, seqlen_k));
}

TEST(Work, NoMaskHasEveryPairVisible) {
  const MaskCounts counts = counts_of(kNoMask, 128, 192);
  EXPECT_EQ(counts.all_pairs, 24576);
  EXPECT_EQ(counts.visible_pairs, 24576);
  EXPECT_EQ(counts.density(), 1.0);
  EXPECT_EQ(counts.empty_rows, 0);
  EXPECT_EQ(counts.empty_keys, 0);
}

TEST(Work, BottomRight128x192Has16448VisiblePairs) {
  // 128 rows of 65 .. 192 keys: 128 * (65 + 192) / 2.
  const MaskCounts counts = counts_of(kBottomRight, 128, 192);
  EXPECT_EQ(counts.visible_pairs, 16448);
  EXPECT_NEAR(counts.density(), 0.6693, 0.00005);
}

TEST(Work, DensitiesOf1024x4096AreTheKnownOnes) {
  EXPECT_NEAR(counts_of(kBottomRight, 1024, 4096).density(), 0.87512, 0.000005);
  EXPECT_NEAR(counts_of(kTopLeft, 1024, 4096).density(), 0.12512, 0.000005);
}

TEST(Work, BottomRight128x64Has64EmptyRows) {
  const MaskCounts counts = counts_of(kBottomRight, 128, 64);
  EXPECT_EQ(counts.empty_rows, 64);
  EXPECT_EQ(counts.empty_keys, 0);
  EXPECT_EQ(counts.visible_pairs, 64 * 65 / 2);
}

TEST(Work, TopLeft384x512Has128EmptyKeys) {
  const MaskCounts counts = counts_of(kTopLeft, 384, 512);
  EXPECT_EQ(counts.empty_keys, 128);
  EXPECT_EQ(counts.empty_rows, 0);
}

TEST(Work, CountsAMillionByAMillionInFull) {
  EXPECT_EQ(counts_of(kNoMask, 1'000'000, 1'000'000).visible_pairs, 1'000'000'000'000);
  EXPECT_EQ(counts_of(kTopLeft, 1'000'000, 1'000'000).visible_pairs, 500'000'500'000);
}

struct Published {
  std::int64_t seqlen_q;
  std::int64_t seqlen_k;
  const char* mask;
  double percent;  // to three places, cut or rounded
  std::int64_t empty_rows;
  std::int64_t empty_keys;
};

// What Composable Kernel's example prints for these shapes and masks.
TEST(Work, DensitiesAreThoseThatComposableKernelPrints) {
  for (const Published& known :
       {Published{259, 259, "n", 100.0, 0, 0}, Published{516, 253, "n", 100.0, 0, 0},
        Published{500, 251, "t", 75.0, 0, 0}, Published{900, 258, "b", 14.389, 642, 0},
        Published{987, 219, "t:128,30", 15.894, 640, 0}, Published{244, 499, "b:4,35", 7.499, 0, 251}}) {
    const MaskCounts counts = counts_of(masks_from(known.mask).front(), known.seqlen_q, known.seqlen_k);
    EXPECT_NEAR(100.0 * counts.density(), known.percent, 0.001) << known.mask;
    EXPECT_EQ(counts.empty_rows, known.empty_rows) << known.mask;
    EXPECT_EQ(counts.empty_keys, known.empty_keys) << known.mask;
  }
}

TEST(Work, AWindowHasAsManyPairsAsItsTrapezium) {
  // Rows see 3 and 4 keys, then 5 each, then 4 and 3: i - 2 <= j <= i + 2 on a square of 10.
  EXPECT_EQ(counts_of(masks_from("t:2,2").front(), 10, 10).visible_pairs, 3 + 4 + 6 * 5 + 4 + 3);
}

TEST(Work, DocumentsHaveThePairsOfTheirSquares) {
  const MaskCounts counts = counts_of(masks_from("document:3,4").front(), 10, 10);
  EXPECT_EQ(counts.visible_pairs, 9 + 16 + 9);
  EXPECT_EQ(counts_of(masks_from("document_causal:3,4").front(), 10, 10).visible_pairs, 6 + 10 + 6);
}

TEST(Work, APrefixAddsThePairsAboveTheDiagonal) {
  // Ten causal rows, 55 pairs; the first three see 3, 2 and 1 keys more.
  EXPECT_EQ(counts_of(masks_from("prefix:4").front(), 10, 10).visible_pairs, 55 + 3 + 2 + 1);
}

TEST(Work, NoPairsHaveNoDensity) {
  const MaskCounts counts = counts_of(kBottomRight, 0, 7);
  EXPECT_EQ(counts.all_pairs, 0);
  EXPECT_EQ(counts.density(), 0.0);
  EXPECT_EQ(counts.rows, 0);
  EXPECT_EQ(counts.keys, 7);
  EXPECT_EQ(counts.empty_keys, 7);
}

TEST(Work, InGroupModeCountsAreSummedOverTheSequencesWithADiagonalEach) {
  Problem problem;
  make_grouped(problem, {4, 2, 0}, {2, 4, 3});
  const MaskCounts counts = count(kBottomRight.rule(), problem);
  EXPECT_EQ(counts.all_pairs, 8 + 8 + 0);
  EXPECT_EQ(counts.visible_pairs, (0 + 0 + 1 + 2) + (3 + 4));
  EXPECT_EQ(counts.rows, 6);
  EXPECT_EQ(counts.keys, 9);
  EXPECT_EQ(counts.empty_rows, 2);
  EXPECT_EQ(counts.empty_keys, 3);
}

TEST(Work, InBatchModeCountsAreThoseOfOneSequence) {
  Problem problem;
  problem.batch = 5;
  problem.seqlen_q = 128;
  problem.seqlen_k = 192;
  EXPECT_EQ(count(kBottomRight.rule(), problem).visible_pairs, 16448);
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

TEST(Work, TheForwardPassHasOneProductOverHdimQAndOneOverHdimV) {
  Problem problem;
  problem.batch = 3;
  problem.nhead_q = 4;
  problem.nhead_k = 2;
  problem.hdim_q = 5;
  problem.hdim_v = 7;
  // 3 * 4 heads, 11 pairs, 2 * 5 + 2 * 7 operations a pair.
  EXPECT_EQ(forward_flops(problem, 11), 12.0 * 11.0 * 24.0);
  make_grouped(problem, {4, 2, 0}, {2, 4, 3});
  EXPECT_EQ(forward_flops(problem, 11), 4.0 * 11.0 * 24.0);
}

TEST(Work, FlopsOfTheUsualBenchmarkShapeAreTenTimesItsPairsTimesHdim) {
  Problem problem;
  problem.batch = 4;
  problem.nhead_q = problem.nhead_k = 16;
  EXPECT_EQ(backward_flops(problem, std::int64_t{2048} * 2048), 343597383680.0);
}

TEST(Work, InGroupModeFlopsAreOfThePairsOfAllSequencesTogether) {
  Problem problem;
  problem.nhead_q = 4;
  problem.hdim_q = 5;
  problem.hdim_v = 7;
  make_grouped(problem, {4, 2, 0}, {2, 4, 3});
  EXPECT_EQ(backward_flops(problem, 10), 4.0 * 10.0 * 58.0);
}

}  // namespace
}  // namespace fmha_bwd
