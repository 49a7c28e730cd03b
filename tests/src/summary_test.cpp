#include "src/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace fmha_bwd {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Summary, OfAFewValuesIsWhatAPersonComputes) {
  const GradientSummary summary = summarize(TensorId::dk, {3.0F, -4.0F, 0.0F, 1.0F});
  EXPECT_EQ(summary.id, TensorId::dk);
  EXPECT_DOUBLE_EQ(summary.mean_abs, 2.0);
  EXPECT_DOUBLE_EQ(summary.l2_norm, std::sqrt(26.0));
  EXPECT_EQ(summary.range.min, -4.0);
  EXPECT_EQ(summary.range.max, 3.0);
  EXPECT_FALSE(summary.max_diff_to_no_mask.has_value());
}

TEST(Summary, ShowsANaNWhereverItStands) {
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<float> values = {1.0F, 2.0F, 3.0F};
    values[i] = kNaN;
    const GradientSummary summary = summarize(TensorId::dq, values);
    EXPECT_TRUE(std::isnan(summary.mean_abs));
    EXPECT_TRUE(std::isnan(summary.l2_norm));
    EXPECT_TRUE(std::isnan(summary.range.min));
    EXPECT_TRUE(std::isnan(summary.range.max));
  }
}

TEST(Summary, SquaresOfLargeValuesDoNotOverflow) {
  EXPECT_NEAR(summarize(TensorId::dv, {1.5e38F, -2e38F, 0.0F}).l2_norm, 2.5e38, 1e32);
}

TEST(Summary, AnInfinityShowsInNormAndRange) {
  const GradientSummary summary = summarize(TensorId::dv, {1.0F, -kInfinity});
  EXPECT_EQ(summary.l2_norm, kInfinity);
  EXPECT_EQ(summary.range.min, -kInfinity);
}

TEST(Summary, OfNothingIsZero) {
  const GradientSummary summary = summarize(TensorId::dq, {});
  EXPECT_EQ(summary.mean_abs, 0.0);
  EXPECT_EQ(summary.l2_norm, 0.0);
  EXPECT_EQ(summary.range.min, 0.0);
  EXPECT_EQ(summary.range.max, 0.0);
  EXPECT_EQ(max_difference({}, {}), 0.0);
}

TEST(MaxDifference, IsTheLargestOfTheAbsoluteDifferences) {
  EXPECT_EQ(max_difference({1.0F, 2.0F, -3.0F}, {1.5F, 2.0F, 1.0F}), 4.0);
  EXPECT_EQ(max_difference({1.0F}, {1.0F}), 0.0);
}

TEST(MaxDifference, IsNaNWhereAnyDifferenceIs) {
  EXPECT_TRUE(std::isnan(max_difference({kNaN, 5.0F}, {0.0F, 0.0F})));
  EXPECT_TRUE(std::isnan(max_difference({5.0F, 1.0F}, {0.0F, kNaN})));
  EXPECT_TRUE(std::isnan(max_difference({kInfinity}, {kInfinity})));
}

TEST(MaxDifference, RefusesTensorsOfDifferentSizes) {
  EXPECT_THROW(max_difference({1.0F}, {1.0F, 2.0F}), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
