#include "bench/bootstrap.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fmha_bwd {
namespace {

// Thirteen samples in no order; the k-th smallest is 100 + k.
const std::vector<double> kThirteen = {107, 113, 101, 104, 110, 109, 102, 112, 105, 106, 103, 111, 108};
const std::vector<double> kOne = {1.0};

Interval interval_at(double confidence) {
  return median_ratio_interval(kThirteen, kOne, {.confidence = confidence});
}

// Efron's paper of 1979, section 3: of 13 samples the resampled median is the l-th smallest with probability
// .0015 (l = 2 or 12), .0142 (3 or 11), .0550 (4 or 10), .1242 (5 or 9), .1936 (6 or 8), .2230 (7). So the
// lower end is the smallest l whose sum, .0015, .0157, .0707, .1949, reaches the share left out below.
TEST(Bootstrap, HasTheEndsOfEfronsDistributionOfTheMedian) {
  EXPECT_EQ(interval_at(0.99).low, 103.0);
  EXPECT_EQ(interval_at(0.99).high, 111.0);
  EXPECT_EQ(interval_at(0.95).low, 104.0);
  EXPECT_EQ(interval_at(0.95).high, 110.0);
  EXPECT_EQ(interval_at(0.80).low, 105.0);
  EXPECT_EQ(interval_at(0.80).high, 109.0);
}

// The same with the sample below: 1 / x falls where x grows.
TEST(Bootstrap, DividesByTheSecondSamplesMedian) {
  const Interval interval = median_ratio_interval({1144.0}, kThirteen);
  EXPECT_DOUBLE_EQ(interval.low, 1144.0 / 110.0);
  EXPECT_DOUBLE_EQ(interval.high, 1144.0 / 104.0);
}

// Of an even count the median is the mean of two places. Of {1, 3} it is 1, 2 or 3 with 1/4, 1/2, 1/4.
TEST(Bootstrap, OfAnEvenCountTakesTheMiddleTwo) {
  const Interval wide = median_ratio_interval({3.0, 1.0}, kOne);
  EXPECT_EQ(wide.low, 1.0);
  EXPECT_EQ(wide.high, 3.0);
  const Interval narrow = median_ratio_interval({3.0, 1.0}, kOne, {.confidence = 0.4});
  EXPECT_EQ(narrow.low, 2.0);
  EXPECT_EQ(narrow.high, 2.0);
}

TEST(Bootstrap, OfTwoSamplesDrawsThemIndependently) {
  // 1/16 of the ratios is 1 / 3 and 1/16 is 3, were they drawn alike there would be none of either.
  const Interval interval = median_ratio_interval({3.0, 1.0}, {3.0, 1.0});
  EXPECT_DOUBLE_EQ(interval.low, 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(interval.high, 3.0);
}

TEST(Bootstrap, OfConstantSamplesIsAPoint) {
  const Interval interval = median_ratio_interval({3.0, 3.0, 3.0}, {2.0, 2.0});
  EXPECT_EQ(interval.low, 1.5);
  EXPECT_EQ(interval.high, 1.5);
}

TEST(Bootstrap, IsTheSameForTheSameSeed) {
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(1.0 + 0.01 * (i * 17 % 40));
    y.push_back(1.0 + 0.013 * (i * 23 % 40));
  }
  const Interval one = median_ratio_interval(x, y, {.seed = 7});
  const Interval same = median_ratio_interval(x, y, {.seed = 7});
  const Interval other = median_ratio_interval(x, y, {.seed = 8});
  EXPECT_EQ(one.low, same.low);
  EXPECT_EQ(one.high, same.high);
  EXPECT_TRUE(one.low != other.low || one.high != other.high);
}

TEST(Bootstrap, RefusesAnEmptySample) {
  EXPECT_THROW(median_ratio_interval({}, kOne), std::invalid_argument);
  EXPECT_THROW(median_ratio_interval(kOne, {}), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
