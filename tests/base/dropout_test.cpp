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

TEST(Dropout, OfNoProbabilityKeepsEvenTheLargestInteger) {
  const DropoutDraws draws = dropout_draws(with_dropout(0.0F));
  EXPECT_EQ(draws.threshold, std::uint64_t{1} << 32);
  EXPECT_TRUE(draws.keeps(0xffffffffu));
  EXPECT_EQ(draws.keep_scale, 1.0F);
}

TEST(Dropout, KeepsIntegersBelowItsThreshold) {
  const DropoutDraws draws = dropout_draws(with_dropout(0.25F));
  EXPECT_EQ(draws.threshold, 3u << 30);
  EXPECT_TRUE(draws.keeps((3u << 30) - 1));
  EXPECT_FALSE(draws.keeps(3u << 30));
}

TEST(Dropout, TheThresholdIsRoundedToTheNearestInteger) {
  // 0.2F is 13421773 / 2^26; (1 - that) 2^32 = 2^32 - 13421773 * 64.
  EXPECT_EQ(dropout_draws(with_dropout(0.2F)).threshold, (std::uint64_t{1} << 32) - 13421773 * 64);
  // 2^-33 of 2^32 is a half: 2^32 - 1/2 goes up.
  EXPECT_EQ(dropout_draws(with_dropout(0x1p-33F)).threshold, std::uint64_t{1} << 32);
  EXPECT_EQ(dropout_draws(with_dropout(0x1.8p-33F)).threshold, (std::uint64_t{1} << 32) - 1);
}

TEST(Dropout, ScalesWhatItKeepsByTheInverseOfItsShare) {
  EXPECT_EQ(dropout_draws(with_dropout(0.5F)).keep_scale, 2.0F);
  EXPECT_EQ(dropout_draws(with_dropout(0.75F)).keep_scale, 4.0F);
  EXPECT_EQ(dropout_draws(with_dropout(0.2F)).keep_scale,
            static_cast<float>(1.0 / (1.0 - static_cast<double>(0.2F))));
}

TEST(Dropout, TakesFourKeysOfAQueryFromEachDraw) {
  Problem problem = with_dropout(0.5F, 42, 5);
  problem.seqlen_k = 10;
  const DropoutDraws draws = dropout_draws(problem);
  EXPECT_EQ(draws.quads_a_row, 3);
  for (std::int64_t head : {0, 1, 15}) {
    for (std::int64_t query = 0; query < 4; ++query) {
      for (std::int64_t key = 0; key < 10; ++key) {
        const std::uint64_t counter = 5 + static_cast<std::uint64_t>(query * 3 + key / 4);
        const PhiloxWords words = philox_quad(42, static_cast<std::uint64_t>(head), counter);
        ASSERT_EQ(draws.keeps(head, query, key), words[static_cast<std::size_t>(key % 4)] < 0x80000000u);
      }
    }
  }
}

TEST(Dropout, AnOffsetMovesTheDrawsAlongTheCounter) {
  Problem near = with_dropout(0.5F, 7, 0);
  near.seqlen_k = 4;
  Problem far = near;
  far.dropout.offset = 2;
  EXPECT_EQ(picture(dropout_draws(far), 1, 5, 4), picture(dropout_draws(near), 1, 7, 4).substr(8));
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
            "......x.x."
            ".xxxx...xx"
            "xx..xx...."
            "x..xx.x...");
}

}  // namespace
}  // namespace fmha_bwd
