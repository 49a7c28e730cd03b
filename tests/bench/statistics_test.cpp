#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fmha_bwd {
namespace {

TEST(Median, OfAnOddCountIsTheMiddleValue) { EXPECT_EQ(median({9.0, 1.0, 2.0}), 2.0); }

TEST(Median, OfAnEvenCountIsTheMeanOfTheMiddleTwo) { EXPECT_EQ(median({4.0, 1.0, 100.0, 2.0}), 3.0); }

TEST(Median, IsNotMovedByOneOutlier) { EXPECT_EQ(median({1.0, 1.0, 1.0, 1.0, 1e9}), 1.0); }

TEST(Median, OfNothingIsNotANumber) { EXPECT_TRUE(std::isnan(median({}))); }

}  // namespace
}  // namespace fmha_bwd
