#include "base/dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace fmha_bwd {
namespace {

Problem with_dropout(float probability, std::uint64_t seed = 1, std::uint64_t offset = 0) {
  Problem problem;
  problem.seqlen_q = problem.seqlen_k = 10;
  problem.dropout = {probability, seed, offset};
  return problem;
}

/// A line a query of one head: x is kept.
std::string picture(const DropoutDraws& draws, std::int64_t head, std::int64_t rows, std::int64_t columns) {
  std::string text;
  for (std::int64_t query = 0; query < rows; ++query) {
    for (std::int64_t key = 0; key < columns; ++key) text += draws.keeps(head, query, key) ? 'x' : '.';
  }
  return text;
}

TEST(Dropout, DropsItsShareOfTheElements) {
  for (const float probability : {0.1F, 0.25F, 0.5F, 0.9F}) {
    const DropoutDraws draws = dropout_draws(with_dropout(probability));
    double dropped = 0.0;
    constexpr std::int64_t kSide = 400;
    for (std::int64_t query = 0; query < kSide; ++query) {
      for (std::int64_t key = 0; key < 10; ++key) dropped += draws.keeps(3, query, key) ? 0.0 : 1.0;
    }
    const double p = static_cast<double>(probability);
    const double five_sigma = 5.0 * std::sqrt(p * (1.0 - p) / (10.0 * kSide));
    EXPECT_NEAR(dropped / (10.0 * kSide), p, five_sigma) << probability;
  }
}

/// Of the keys 0 to 7 whose integers these are: x is kept.
std::string kept_of(const DropoutDraws& draws, const PhiloxWords& integers) {
  std::string text;
  for (std::int64_t key = 0; key < 8; ++key) text += draws.keeps(integers, key) ? 'x' : '.';
  return text;
}

TEST(Dropout, OfNoProbabilityKeepsEvenTheLargestHalf) {
  const DropoutDraws draws = dropout_draws(with_dropout(0.0F));
  EXPECT_EQ(draws.threshold, 1U << 16);
  EXPECT_EQ(kept_of(draws, {{0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}}), "xxxxxxxx");
  EXPECT_EQ(draws.keep_scale, 1.0F);
}

TEST(Dropout, TakesTheLowHalvesOfTheIntegersForFourKeysAndTheHighHalvesForTheNextFour) {
  const DropoutDraws draws = dropout_draws(with_dropout(0.5F));
  EXPECT_EQ(kept_of(draws, {{0xffff0000U, 0xffffffffU, 0xffffffffU, 0xffffffffU}}), "x.......");
  EXPECT_EQ(kept_of(draws, {{0xffffffffU, 0xffff0000U, 0xffffffffU, 0xffffffffU}}), ".x......");
  EXPECT_EQ(kept_of(draws, {{0xffffffffU, 0xffffffffU, 0xffff0000U, 0xffffffffU}}), "..x.....");
  EXPECT_EQ(kept_of(draws, {{0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffff0000U}}), "...x....");
  EXPECT_EQ(kept_of(draws, {{0x0000ffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}}), "....x...");
  EXPECT_EQ(kept_of(draws, {{0xffffffffU, 0xffffffffU, 0xffffffffU, 0x0000ffffU}}), ".......x");
}

TEST(Dropout, KeepsHalvesBelowItsThreshold) {
  const DropoutDraws draws = dropout_draws(with_dropout(0.25F));
  EXPECT_EQ(draws.threshold, 0xc000U);
  EXPECT_EQ(kept_of(draws, {{0xbfffc000U, 0xc000bfffU, 0xffff0000U, 0x0000ffffU}}), ".xx.x..x");
}

TEST(Dropout, TheThresholdIsRoundedToTheNearestInteger) {
  // (1 - 0.2) 2^16 = 52428.8
  EXPECT_EQ(dropout_draws(with_dropout(0.2F)).threshold, 52429U);
  // 2^-17 of 2^16 is a half: 2^16 - 1/2 goes up.
  EXPECT_EQ(dropout_draws(with_dropout(0x1p-17F)).threshold, 1U << 16);
  EXPECT_EQ(dropout_draws(with_dropout(0x1.8p-17F)).threshold, (1U << 16) - 1);
}

TEST(Dropout, AlwaysKeepsSomething) {
  EXPECT_EQ(dropout_draws(with_dropout(0x1.fffp-1F)).threshold, 8U);
  const DropoutDraws draws = dropout_draws(with_dropout(0x1.fffffep-1F));  // the largest below 1
  EXPECT_EQ(draws.threshold, 1U);
  EXPECT_EQ(draws.keep_scale, 65536.0F);
  EXPECT_EQ(kept_of(draws, {{0x00010000U, 0xffffffffU, 0xffffffffU, 0xffffffffU}}), "x.......");
}

TEST(Dropout, ScalesWhatItKeepsByTheInverseOfItsShare) {
  EXPECT_EQ(dropout_draws(with_dropout(0.5F)).keep_scale, 2.0F);
  EXPECT_EQ(dropout_draws(with_dropout(0.75F)).keep_scale, 4.0F);
  EXPECT_EQ(dropout_draws(with_dropout(0.2F)).keep_scale, 65536.0F / 52429.0F);
  EXPECT_EQ(dropout_draws(with_dropout(0x1p-18F)).keep_scale, 1.0F);
}

TEST(Dropout, TakesEightKeysOfAQueryFromEachDraw) {
  Problem problem = with_dropout(0.5F, 42, 5);
  problem.seqlen_k = 18;
  const DropoutDraws draws = dropout_draws(problem);
  EXPECT_EQ(draws.eights_a_row, 3);
  for (std::int64_t head : {0, 1, 15}) {
    for (std::int64_t query = 0; query < 4; ++query) {
      for (std::int64_t key = 0; key < 18; ++key) {
        const std::uint64_t counter = 5 + static_cast<std::uint64_t>(query * 3 + key / 8);
        const PhiloxWords words = philox_quad(42, static_cast<std::uint64_t>(head), counter);
        const std::uint32_t sign_of_half = key % 8 < 4 ? 0x8000U : 0x80000000U;
        ASSERT_EQ(draws.keeps(head, query, key),
                  (words[static_cast<std::size_t>(key % 4)] & sign_of_half) == 0);
      }
    }
  }
}

TEST(Dropout, AnOffsetMovesTheDrawsAlongTheCounter) {
  Problem near = with_dropout(0.5F, 7, 0);
  near.seqlen_k = 8;
  Problem far = near;
  far.dropout.offset = 2;
  EXPECT_EQ(picture(dropout_draws(far), 1, 5, 8), picture(dropout_draws(near), 1, 7, 8).substr(16));
}

TEST(Dropout, HeadsAndSeedsHaveDrawsOfTheirOwn) {
  const std::string one = picture(dropout_draws(with_dropout(0.5F, 1)), 0, 10, 10);
  EXPECT_NE(picture(dropout_draws(with_dropout(0.5F, 1)), 1, 10, 10), one);
  EXPECT_NE(picture(dropout_draws(with_dropout(0.5F, 2)), 0, 10, 10), one);
  EXPECT_EQ(picture(dropout_draws(with_dropout(0.5F, 1)), 0, 10, 10), one);
}

TEST(Dropout, AHigherProbabilityDropsMoreOfTheSame) {
  const std::string few = picture(dropout_draws(with_dropout(0.3F)), 0, 10, 10);
  const std::string many = picture(dropout_draws(with_dropout(0.6F)), 0, 10, 10);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_FALSE(few[i] == '.' && many[i] == 'x') << i;
  }
}

// A change here changes what every run with dropout computes. Made by a Philox in Python.
TEST(Dropout, HasItsPinnedDraws) {
  EXPECT_EQ(picture(dropout_draws(with_dropout(0.5F)), 0, 4, 10),
            "xxx.....x."
            "...xx....."
            "xxx.x....."
            "x...xx...x");
}

}  // namespace
}  // namespace fmha_bwd
