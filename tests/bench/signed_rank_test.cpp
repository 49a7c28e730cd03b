#include "bench/signed_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace fmha_bwd {
namespace {

TEST(SignedRank, HasThePublishedPOfDepressionScores) {
  // M. Hollander, D. A. Wolfe, "Nonparametric Statistical Methods", 1973, p. 29: V = 40 of nine pairs, p =
  // 0.019.
  const std::vector<double> first = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> second = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) differences.push_back(first[i] - second[i]);
  EXPECT_DOUBLE_EQ(p_of_positive(differences), 10.0 / 512.0);
}

TEST(SignedRank, CountsByHand) {
  // Rank sums of {1, 2, 3} by signs: 0, 1, 2, 3, 3, 4, 5, 6.
  EXPECT_EQ(p_of_positive({1.0, 2.0, 3.0}), 1.0 / 8.0);
  EXPECT_EQ(p_of_positive({-1.0, 2.0, 3.0}), 2.0 / 8.0);
  EXPECT_EQ(p_of_positive({1.0, 2.0, -3.0}), 5.0 / 8.0);
  EXPECT_EQ(p_of_positive({-1.0, -2.0, -3.0}), 1.0);
}

TEST(SignedRank, GivesTiesTheMeanOfTheirRanks) {
  // Ranks 1.5, 1.5 and 3; V = 4.5: 1.5 + 3 twice and 6 once of eight.
  EXPECT_EQ(p_of_positive({1.0, -1.0, 2.0}), 3.0 / 8.0);
}

TEST(SignedRank, LeavesOutPairsThatDoNotDiffer) {
  EXPECT_EQ(p_of_positive({0.0, 1.0, 0.0, 2.0}), 1.0 / 4.0);
  EXPECT_EQ(p_of_positive({0.0, 0.0}), 1.0);
}

TEST(SignedRank, IsSmallestWhereAllArePositive) {
  EXPECT_EQ(p_of_positive(std::vector<double>(9, 1.0)), least_p_of_pairs(9));
  EXPECT_EQ(least_p_of_pairs(9), 1.0 / 512.0);
}

TEST(SignedRank, GivesEveryGroupOfTiesTheMeanOfItsRanks) {
  // Ranks 1.5, 1.5, 3.5, 3.5; V = 1.5 + 3.5 + 3.5 = 8.5, which two signs reach, and 10 one.
  EXPECT_EQ(p_of_positive({1.0, -1.0, 2.0, 2.0}), 3.0 / 16.0);
}

TEST(SignedRank, IsNormalForMany) {
  // n = 101, all positive but the least ten: V = 5151 - 55 = 5096, mean 2575.5, variance 87137.75.
  std::vector<double> differences;
  for (int i = 1; i <= 101; ++i) differences.push_back(i <= 10 ? -i : i);
  const double z = (5096.0 - 2575.5 - 0.5) / std::sqrt(101.0 * 102.0 * 203.0 / 24.0);
  EXPECT_DOUBLE_EQ(p_of_positive(differences), std::erfc(z / std::sqrt(2.0)) / 2.0);
  EXPECT_GT(p_of_positive(std::vector<double>(20000, 1.0)), 0.0);
}

TEST(SignedRank, IsNormalForManyTies) {
  // Sixty pairs of ties, the ten least of them negative: V = 7260 - 210, mean 3630, and 60 (2^3 - 2) / 48
  // = 7.5.
  std::vector<double> differences;
  for (int i = 1; i <= 60; ++i) differences.insert(differences.end(), 2, i <= 10 ? -i : i);
  const double z = (7050.0 - 3630.0 - 0.5) / std::sqrt(120.0 * 121.0 * 241.0 / 24.0 - 7.5);
  EXPECT_DOUBLE_EQ(p_of_positive(differences), std::erfc(z / std::sqrt(2.0)) / 2.0);
}

TEST(SignedRank, IsCloseToTheExactOneWhereItBecomesNormal) {
  std::vector<double> differences;
  for (int i = 1; i <= 100; ++i) differences.push_back(i % 3 == 0 ? -i : i);
  const double exact = p_of_positive(differences);
  differences.push_back(0.5);  // the least: hardly a difference
  EXPECT_NEAR(p_of_positive(differences), exact, 0.05 * exact);
}

TEST(SignedRank, RefusesNothingAndNan) {
  EXPECT_THROW(p_of_positive({}), std::invalid_argument);
  EXPECT_THROW(p_of_positive({1.0, std::numeric_limits<double>::quiet_NaN()}), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
