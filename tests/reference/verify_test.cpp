#include "reference/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace fmha_bwd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinityOfTruth = std::numeric_limits<double>::infinity();
constexpr Spread kNothingExpected{};

const Shape kShape{1, 2, 3, 4};

/// Of 24 elements, 1 .. 24.
std::vector<double> rising() {
  std::vector<double> truth(24);
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = static_cast<double>(i + 1);
  return truth;
}

std::vector<float> to_float(const std::vector<double>& values) { return {values.begin(), values.end()}; }

TensorVerdict verdict_of(const std::vector<float>& actual, const std::vector<double>& truth,
                         const std::vector<float>& textbook, DType dtype = DType::fp16,
                         const Spread& expected = kNothingExpected) {
  const Shape shape = actual.size() == 24 ? kShape : Shape{1, 1, static_cast<std::int64_t>(actual.size()), 1};
  return verify(TensorId::dk, tensor_from(actual, shape, dtype), truth, textbook, expected);
}

TEST(Verify, TheTruthPasses) {
  const TensorVerdict verdict = verdict_of(to_float(rising()), rising(), to_float(rising()));
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.id, TensorId::dk);
  EXPECT_EQ(verdict.max_diff, 0.0);
  EXPECT_EQ(verdict.l2_diff, 0.0);
  EXPECT_EQ(verdict.elements, 24);
  EXPECT_EQ(verdict.wrong, 0);
  EXPECT_TRUE(verdict.worst.empty());
  EXPECT_DOUBLE_EQ(verdict.reference_l2, 70.0);  // 24 * 25 * 49 / 6 = 4900
}

TEST(Verify, TheTruthRoundedPassesHoweverGoodTheTextbook) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const double worst : {1.0 + unit_roundoff(dtype), 1.0 + 3.0 * unit_roundoff(dtype)}) {
      const std::vector<double> truth = {worst};
      EXPECT_TRUE(verdict_of({static_cast<float>(worst)}, truth, {static_cast<float>(worst)}, dtype).passed);
    }
    const std::vector<double> tiny = {subnormal_roundoff(dtype)};
    EXPECT_TRUE(verdict_of({0.0F}, tiny, {static_cast<float>(tiny[0])}, dtype).passed);
  }
}

TEST(Verify, TheBudgetIsTheFactorTimesTheTextbooksError) {
  std::vector<float> textbook = to_float(rising());
  textbook[5] += 0.5F;
  const TensorVerdict verdict = verdict_of(to_float(rising()), rising(), textbook);
  EXPECT_NEAR(verdict.max_diff_budget, kMaxFactor * 0.5, 1e-6);
  EXPECT_NEAR(verdict.l2_budget, kL2Factor * 0.5, 1e-6);
}

TEST(Verify, TheBudgetIsTheExpectedErrorWhereTheTextbookWasLucky) {
  const std::vector<double> zeros(24, 0.0);
  const TensorVerdict verdict = verdict_of(to_float(zeros), zeros, to_float(zeros), DType::fp16,
                                           {.rms = 0.25, .row_rms = 0.5, .max = 1.0});
  EXPECT_NEAR(verdict.max_diff_budget, kMaxFactor, 1e-6);
  EXPECT_NEAR(verdict.l2_budget, kL2Factor * 0.25 * std::sqrt(24.0) + 0.5 * std::sqrt(4.0), 1e-6);
}

TEST(Verify, AnErrorBeyondTheBudgetFails) {
  std::vector<float> textbook = to_float(rising());
  textbook[5] += 0.5F;
  std::vector<float> actual = to_float(rising());
  actual[7] += 0.9375F;
  EXPECT_TRUE(verdict_of(actual, rising(), textbook).passed);
  actual[7] = 8.0F + 1.5625F;
  const TensorVerdict verdict = verdict_of(actual, rising(), textbook);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.max_diff, 1.5625);
  EXPECT_EQ(verdict.wrong, 1);
}

TEST(Verify, ManySmallErrorsFailByTheir2Norm) {
  std::vector<float> textbook = to_float(rising());
  textbook[5] += 0.5F;
  std::vector<float> actual = to_float(rising());
  for (float& x : actual) x += 0.25F;
  const TensorVerdict verdict = verdict_of(actual, rising(), textbook);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.wrong, 0);
  EXPECT_LT(verdict.max_diff, verdict.max_diff_budget);
  EXPECT_GT(verdict.l2_diff, verdict.l2_budget);
}

TEST(Verify, AMismatchHasItsIndexAndBothValues) {
  std::vector<float> actual = to_float(rising());
  actual[12 + 2 * 4 + 3] = -5.0F;
  const TensorVerdict verdict = verdict_of(actual, rising(), to_float(rising()));
  ASSERT_EQ(verdict.worst.size(), 1u);
  EXPECT_EQ(verdict.worst[0].index, (Shape{0, 1, 2, 3}));
  EXPECT_EQ(verdict.worst[0].actual, -5.0);
  EXPECT_EQ(verdict.worst[0].expected, 24.0);
}

TEST(Verify, TheWorstFewAreShownNaNFirstAndThenTheLargestErrors) {
  std::vector<float> actual = to_float(rising());
  for (std::size_t i = 0; i < 20; ++i) actual[i] += static_cast<float>(10 + (i * 7) % 20);
  actual[3] = kInfinity;
  actual[23] = kNaN;
  const TensorVerdict verdict = verdict_of(actual, rising(), to_float(rising()));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.wrong, 21);
  ASSERT_EQ(verdict.worst.size(), kWorstShown);
  EXPECT_TRUE(std::isnan(verdict.worst[0].actual));
  EXPECT_EQ(verdict.worst[1].actual, static_cast<double>(kInfinity));
  // The errors 10 .. 29 without that of element 3, from above.
  EXPECT_EQ(verdict.worst[2].actual - verdict.worst[2].expected, 29.0);
  EXPECT_EQ(verdict.worst[7].actual - verdict.worst[7].expected, 24.0);
}

TEST(Verify, OneNaNFails) {
  for (std::size_t place : {std::size_t{0}, std::size_t{11}, std::size_t{23}}) {
    std::vector<float> actual = to_float(rising());
    actual[place] = kNaN;
    const TensorVerdict verdict = verdict_of(actual, rising(), to_float(rising()), DType::fp16,
                                             {.rms = 1e30, .row_rms = 1e30, .max = 1e30});
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.wrong, 1);
    EXPECT_TRUE(std::isnan(verdict.max_diff));
    EXPECT_TRUE(std::isnan(verdict.l2_diff));
  }
}

TEST(Verify, ABudgetThatIsNotFiniteFailsEvenTheTruth) {
  for (const float bad : {kNaN, kInfinity}) {
    std::vector<float> textbook = to_float(rising());
    textbook[2] = bad;
    EXPECT_FALSE(verdict_of(to_float(rising()), rising(), textbook).passed);
  }
  EXPECT_FALSE(verdict_of(to_float(rising()), rising(), to_float(rising()), DType::fp16,
                          {.rms = 0.0, .row_rms = 0.0, .max = static_cast<double>(kNaN)})
                   .passed);
}

TEST(Verify, AnInfinityIsRightWhereTheTruthRoundsToIt) {
  const std::vector<double> truth = {70000.0, 1.0};
  const std::vector<float> textbook = {kInfinity, 1.0F};
  EXPECT_TRUE(verdict_of({kInfinity, 1.0F}, truth, textbook).passed);
  EXPECT_FALSE(verdict_of({-kInfinity, 1.0F}, truth, textbook).passed);
  EXPECT_FALSE(verdict_of({0.0F, 1.0F}, truth, textbook).passed);
  EXPECT_FALSE(verdict_of({kInfinity, kInfinity}, truth, textbook).passed);
}

TEST(Verify, AnEmptyRowsLseMustBeMinusInfinity) {
  const std::vector<double> truth = {-kInfinityOfTruth, 2.0};
  const std::vector<float> textbook = {-kInfinity, 2.0F};
  EXPECT_TRUE(verdict_of({-kInfinity, 2.0F}, truth, textbook, DType::fp32).passed);
  EXPECT_FALSE(verdict_of({kInfinity, 2.0F}, truth, textbook, DType::fp32).passed);
  EXPECT_FALSE(verdict_of({-1e30F, 2.0F}, truth, textbook, DType::fp32).passed);
  EXPECT_FALSE(verdict_of({-kInfinity, -kInfinity}, truth, textbook, DType::fp32).passed);
}

TEST(Verify, ZerosFailAgainstAnythingElse) {
  for (const double size : {1e-6, 1e-3, 1.0}) {
    std::vector<double> truth = rising();
    for (double& x : truth) x *= size;
    std::vector<float> textbook;
    for (const double x : truth) textbook.push_back(round_to(DType::bf16, static_cast<float>(x)));
    EXPECT_FALSE(verdict_of(std::vector<float>(24), truth, textbook, DType::bf16).passed);
  }
}

TEST(Verify, ATensorWithoutElementsPasses) {
  const TensorVerdict verdict = verdict_of({}, {}, {});
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.elements, 0);
  EXPECT_EQ(verdict.budget_share(), 0.0);
}

TEST(Verify, AGroupWithoutRowsPasses) {
  Problem problem{1, 2, 1, 1, 1, 4, 4, DType::fp16, 0.5F};
  problem.bias = BiasShape::full;
  problem.alibi = problem.sink = true;
  make_grouped(problem, {0, 0}, {0, 0});
  const Reference reference = reference_for(problem, kBottomRight, draw_inputs(problem, {}));
  for (const TensorId id : outputs_of(problem)) {
    const Shape shape = shape_of(id, problem);
    const std::vector<float> zeros(static_cast<std::size_t>(shape.elements()));
    EXPECT_TRUE(verify(id, tensor_from(zeros, shape, dtype_of(id, problem)), reference).passed)
        << name_of(id);
  }
}

TEST(Verify, AReferenceOfAnotherShapeIsRefused) {
  EXPECT_THROW(verdict_of(to_float(rising()), {1.0}, to_float(rising())), std::invalid_argument);
  EXPECT_THROW(verdict_of(to_float(rising()), rising(), {1.0F}), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
