#include "bench/rank_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace fmha_bwd {
namespace {

using Samples = std::vector<double>;

Samples numbers(int first, int last) {
  Samples list;
  for (int i = first; i <= last; ++i) list.push_back(i);
  return list;
}

// M. Hollander, D. A. Wolfe, "Nonparametric Statistical Methods", table 4.1: permeability of the human
// chorioamnion at term, and at 12 to 26 weeks. R's page on wilcox.test prints W = 35, p-value = 0.1272 for
// "greater"; SAS's NPAR1WAY the same, and 0.1223 by the normal approximation with continuity correction.
const Samples kAtTerm = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
const Samples kEarlier = {1.15, 0.88, 0.90, 0.74, 1.21};

TEST(RankTest, GivesThePublishedPOfHollanderAndWolfe) {
  EXPECT_NEAR(p_of_larger(kAtTerm, kEarlier), 0.1272, 5e-5);
  EXPECT_DOUBLE_EQ(exact_p_of_larger(kAtTerm, kEarlier), 382.0 / 3003.0);
}

TEST(RankTest, GivesThePublishedNormalApproximationOfHollanderAndWolfe) {
  EXPECT_NEAR(normal_p_of_larger(kAtTerm, kEarlier), 0.1223, 5e-5);
}

// The example of scipy.stats.mannwhitneyu: two-sided p-values 0.1111 (exact) and 0.11134688653314041
// (asymptotic).
TEST(RankTest, GivesThePValuesOfScipysExample) {
  const Samples males = {19, 22, 16, 29, 24};
  const Samples females = {20, 11, 17, 12};
  EXPECT_DOUBLE_EQ(2.0 * p_of_larger(males, females), 1.0 / 9.0);
  EXPECT_NEAR(2.0 * normal_p_of_larger(males, females), 0.11134688653314041, 1e-15);
}

// Diastolic blood pressures from the manual of StatXact 4: one-sided exact p = 0.0542, with ties.
TEST(RankTest, GivesThePublishedPWithTies) {
  const Samples treated = {94, 108, 110, 90};
  const Samples controls = {80, 94, 85, 90, 90, 90, 108, 94, 78, 105, 88};
  EXPECT_NEAR(p_of_larger(treated, controls), 0.0542, 5e-5);
  EXPECT_DOUBLE_EQ(p_of_larger(treated, controls), 74.0 / 1365.0);
}

// W. J. Conover, "Practical Nonparametric Statistics", chapter 5.1, example 1: boys from farms and from town.
// T = 321 against a mean of 294, the squared ranks' sum is 38,016, and T1 = 0.6431 with the correction for
// ties, but without that for continuity.
TEST(RankTest, CorrectsTheVarianceForTiesAsConoverDoes) {
  const Samples farm = {14.8, 7.3, 5.6, 6.3, 9.0, 4.2, 10.6, 12.5, 12.9, 16.1, 11.4, 2.7};
  const Samples town = {12.7, 14.2, 12.6, 2.1,  17.7, 11.8, 16.9, 7.9,  16.0, 10.6, 5.6,  5.6,
                        7.6,  11.3, 8.3,  6.7,  3.6,  1.0,  2.4,  6.4,  9.1,  6.7,  18.6, 3.2,
                        6.2,  6.1,  15.3, 10.6, 1.8,  5.9,  9.9,  10.6, 14.8, 5.0,  2.6,  4.0};
  const double s =
      std::sqrt(12.0 * 36.0 / (48.0 * 47.0) * 38016.0 - 12.0 * 36.0 * 49.0 * 49.0 / (4.0 * 47.0));
  EXPECT_NEAR(27.0 / s, 0.6431, 5e-5);
  EXPECT_NEAR(normal_p_of_larger(farm, town), std::erfc((27.0 - 0.5) / s / std::sqrt(2.0)) / 2.0, 1e-12);
}

// Mann and Whitney's table of 1947 for n = m = 4: P(U <= 0), P(U <= 1), ...
TEST(RankTest, CountsAsTheTableOfMannAndWhitney) {
  EXPECT_NEAR(p_of_larger({5, 6, 7, 8}, {1, 2, 3, 4}), 0.014, 5e-4);
  EXPECT_NEAR(p_of_larger({4, 6, 7, 8}, {1, 2, 3, 5}), 0.029, 5e-4);
  EXPECT_NEAR(p_of_larger({3, 6, 7, 8}, {1, 2, 4, 5}), 0.057, 5e-4);
  EXPECT_NEAR(p_of_larger({2, 6, 7, 8}, {1, 3, 4, 5}), 0.100, 5e-4);
  EXPECT_NEAR(p_of_larger({1, 6, 7, 8}, {2, 3, 4, 5}), 0.171, 5e-4);
}

TEST(RankTest, OfPerfectlySeparatedSamplesIsTheLeastP) {
  EXPECT_DOUBLE_EQ(p_of_larger(numbers(10, 18), numbers(1, 9)), 1.0 / 48620.0);
  EXPECT_DOUBLE_EQ(least_p(9, 9), 1.0 / 48620.0);
  EXPECT_DOUBLE_EQ(least_p(10, 5), 1.0 / 3003.0);
  EXPECT_DOUBLE_EQ(least_p(5, 10), 1.0 / 3003.0);
  EXPECT_DOUBLE_EQ(least_p(1, 0), 1.0);
}

TEST(RankTest, IsOneSided) {
  EXPECT_DOUBLE_EQ(p_of_larger(numbers(1, 9), numbers(10, 18)), 1.0);
  EXPECT_GT(normal_p_of_larger(numbers(1, 9), numbers(10, 18)), 0.999);
}

TEST(RankTest, OfSamplesThatAllTieIsOne) {
  const Samples same(9, 1.5);
  EXPECT_EQ(exact_p_of_larger(same, same), 1.0);
  EXPECT_EQ(normal_p_of_larger(same, same), 1.0);
}

TEST(RankTest, IsAlikeByBothWaysWhereTheyMeet) {
  Samples x;
  Samples y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(i * 7 % 30 + 6);
    y.push_back(i * 11 % 30);
  }
  EXPECT_EQ(p_of_larger(x, y), exact_p_of_larger(x, y));
  EXPECT_NEAR(exact_p_of_larger(x, y), normal_p_of_larger(x, y), 5e-4);
  x.push_back(20);
  EXPECT_EQ(p_of_larger(x, y), normal_p_of_larger(x, y));
}

TEST(RankTest, OrdersInfinitiesToo) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(p_of_larger({3.0, infinity}, {1.0, -infinity}), 1.0 / 6.0);
}

TEST(RankTest, RefusesWhatHasNoRanks) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(p_of_larger({}, {1.0}), std::invalid_argument);
  EXPECT_THROW(p_of_larger({1.0}, {}), std::invalid_argument);
  EXPECT_THROW(p_of_larger({1.0}, {nan}), std::invalid_argument);
  EXPECT_THROW(normal_p_of_larger({nan}, {1.0}), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
