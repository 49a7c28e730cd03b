#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fmha_bwd {
namespace {

TEST(Median, OfAnOddCountIsTheMiddleValue) { EXPECT_EQ(median({9.0, 1.0, 2.0}), 2.0); }

TEST(Median, OfAnEvenCountIsTheMeanOfTheMiddleTwo) { EXPECT_EQ(median({4.0, 1.0, 100.0, 2.0}), 3.0); }

TEST(Median, IsNotMovedByOneOutlier) { EXPECT_EQ(median({1.0, 1.0, 1.0, 1.0, 1e9}), 1.0); }

TEST(Median, OfNothingIsNotANumber) { EXPECT_TRUE(std::isnan(median({}))); }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// {2, 4, 4, 4, 5, 5, 7, 9} of Wikipedia's article on the standard deviation: the population's is 2 (divided
// by 8), so that of a sample is sqrt(32 / 7).
TEST(StandardDeviation, IsThatOfASample) {
  EXPECT_DOUBLE_EQ(standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7.0));
  EXPECT_EQ(mean({2, 4, 4, 4, 5, 5, 7, 9}), 5.0);
  EXPECT_TRUE(std::isnan(standard_deviation({1.0})));
}

// {1, 1, 2, 2, 4, 6, 9} of Wikipedia's article on the median absolute deviation: median 2, deviation 1.
TEST(RelativeMad, GivesThePublishedDeviation) {
  EXPECT_DOUBLE_EQ(relative_mad({1, 1, 2, 2, 4, 6, 9}), 1.0 / 2.0);
}

TEST(RelativeMad, IsAShareWhateverTheUnit) {
  EXPECT_DOUBLE_EQ(relative_mad({1000, 1000, 2000, 2000, 4000, 6000, 9000}), 0.5);
  EXPECT_EQ(relative_mad({3.0, 3.0, 3.0}), 0.0);
  EXPECT_EQ(relative_mad({3.0}), 0.0);
}

TEST(RelativeMad, IsNotANumberWhereThereIsNoSuchShare) {
  EXPECT_TRUE(std::isnan(relative_mad({})));
  EXPECT_TRUE(std::isnan(relative_mad({1.0, kNaN, 2.0})));
  EXPECT_TRUE(std::isnan(relative_mad({1.0, 2.0, kInfinity})));
  EXPECT_TRUE(std::isnan(relative_mad({0.0, 0.0, 1.0})));
  EXPECT_TRUE(std::isnan(relative_mad({-1.0, -1.0, -1.0})));
}

}  // namespace
}  // namespace fmha_bwd
