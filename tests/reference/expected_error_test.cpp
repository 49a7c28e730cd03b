#include "reference/expected_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace fmha_bwd {
namespace {

struct Case {
  Problem problem;
  AttentionInputs inputs;
  MaskSpec mask;
  ExactAttention exact;

  Case(const Problem& p, MaskSpec m, float standard_deviation)
      : problem(p),
        inputs(draw_inputs(p, {.standard_deviation = standard_deviation})),
        mask(std::move(m)),
        exact(exact_attention(problem, mask, inputs)) {}

  ExpectedErrors expected() const { return expected_errors(problem, inputs, exact); }
};

double rms_error(const std::vector<float>& values, const std::vector<double>& truth) {
  double squares = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = static_cast<double>(values[i]) - truth[i];
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(ExpectedError, IsAboutWhatTheTextbookErrs) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const float standard_deviation : {0.1F, 1.0F}) {
      for (const MaskSpec& mask : {kNoMask, kTopLeft}) {
        const Case c({1, 4, 2, 128, 192, 64, 32, dtype, 0.125F}, mask, standard_deviation);
        const ExpectedErrors expected = c.expected();
        const TextbookAttention textbook = textbook_attention(c.problem, c.mask, c.inputs);
        for (const TensorId id : outputs_of(c.problem)) {
          const DType type = dtype_of(id, c.problem);
          double size = 0.0;
          for (const double x : c.exact.of(id)) size += x * x;
          const double output_rounding = unit_roundoff(type) / std::sqrt(3.0) *
                                         std::sqrt(size / static_cast<double>(c.exact.of(id).size()));
          const double estimate = std::hypot(expected.of(id).rms, output_rounding);
          const double ratio = rms_error(textbook.of(id), c.exact.of(id)) / estimate;
          EXPECT_GT(ratio, 0.05) << name_of(dtype) << ' ' << name_of(id) << ' ' << standard_deviation;
          EXPECT_LT(ratio, 1.2) << name_of(dtype) << ' ' << name_of(id) << ' ' << standard_deviation;
        }
      }
    }
  }
}

TEST(ExpectedError, OfTheLargestRowIsBetweenThatOfAllAndTheLargest) {
  const Case c({1, 2, 1, 50, 60, 16, 16, DType::bf16, 0.25F}, kBottomRight, 1.0F);
  const ExpectedErrors expected = c.expected();
  for (const TensorId id : outputs_of(c.problem)) {
    EXPECT_GT(expected.of(id).rms, 0.0) << name_of(id);
    EXPECT_GE(expected.of(id).row_rms, expected.of(id).rms) << name_of(id);
    EXPECT_GE(expected.of(id).max, expected.of(id).row_rms) << name_of(id);
  }
}

TEST(ExpectedError, OfOneQueryAndOneKeyIsNotZeroThoughDqIs) {
  const Case c({1, 1, 1, 1, 1, 64, 64, DType::fp32, 0.125F}, kNoMask, 0.1F);
  const ExpectedErrors expected = c.expected();
  EXPECT_GT(expected.dq.max, 0.0);
  EXPECT_GT(expected.dk.max, 0.0);
  // and still far below a dQ whose D was forgotten, scale |dP| |K| ~ 0.125 * 0.08 * 0.1.
  EXPECT_LT(expected.dq.max, 1e-7);
}

TEST(ExpectedError, OfDvIsTheTypesRoundingTimesTheWeights) {
  // One key: P = 1 for each of 100 queries, dO = 1; the sum of 100 independent roundings.
  const Problem problem{1, 1, 1, 100, 1, 4, 4, DType::bf16, 0.5F};
  const AttentionInputs inputs{std::vector<float>(400), std::vector<float>(4), std::vector<float>(4),
                               std::vector<float>(400, 1.0F)};
  const ExactAttention exact = exact_attention(problem, kNoMask, inputs);
  EXPECT_NEAR(expected_errors(problem, inputs, exact).dv.rms, 0x1p-8 / std::sqrt(3.0) * 10.0, 1e-6);
}

TEST(ExpectedError, OfDvHoldsWhatAnLseMayErrInAllRowsAlike) {
  // All scores are 0 and LSE = log 43 = 3.76, which may be off by 2^-23; then so are all P, and all terms of
  // dV.
  Problem problem{1, 1, 1, 76, 43, 32, 64, DType::fp32, 0.0F};
  AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 3.0F});
  inputs.d_o.assign(inputs.d_o.size(), 1.0F);
  const ExactAttention exact = exact_attention(problem, kNoMask, inputs);
  const ExpectedErrors expected = expected_errors(problem, inputs, exact);
  EXPECT_NEAR(exact.dv.front(), 76.0 / 43.0, 1e-12);
  for (const double error :
       {expected.dv.rms, expected.dv.row_rms, expected.dv.max, expected.rows.dv.back()}) {
    EXPECT_GT(error, 10.0 * 0x1p-24 * 76.0 / 43.0);  // sqrt(43) + log(44) = 10.34 of them
    EXPECT_LT(error, 0x1p-20 * 76.0 / 43.0);
  }
}

TEST(ExpectedError, OfDkHoldsWhatTheSumsErrAlikeForAllQueries) {
  // One key, so that P = 1, and 100 queries alike: the error of their dP - D, about 2^-24 sqrt(88) / 3 times
  // the sum 44 for each of dP and D, times 100 scale Q = 12.5.
  const Problem problem{1, 1, 1, 100, 1, 16, 88, DType::fp32, 0.25F};
  const AttentionInputs inputs{std::vector<float>(1600, 0.5F), std::vector<float>(16, 0.5F),
                               std::vector<float>(88, 0.5F), std::vector<float>(8800, 1.0F)};
  const ExpectedErrors expected = expected_errors(problem, inputs, exact_attention(problem, kNoMask, inputs));
  for (const double error :
       {expected.dk.rms, expected.dk.row_rms, expected.dk.max, expected.rows.dk.back()}) {
    EXPECT_GT(error, 1.4e-4);
    EXPECT_LT(error, 2e-4);
  }
}

TEST(ExpectedError, OfDqHoldsWhatTheSumsErrAlikeForAllKeys) {
  // The same with 100 keys, P = 1 / 100, and one query: 100 P scale K = 0.125.
  const Problem problem{1, 1, 1, 1, 100, 16, 88, DType::fp32, 0.25F};
  const AttentionInputs inputs{std::vector<float>(16, 0.5F), std::vector<float>(1600, 0.5F),
                               std::vector<float>(8800, 0.5F), std::vector<float>(88, 1.0F)};
  const ExpectedErrors expected = expected_errors(problem, inputs, exact_attention(problem, kNoMask, inputs));
  for (const double error : {expected.dq.rms, expected.dq.row_rms, expected.dq.max}) {
    EXPECT_GT(error, 1.4e-6);
    EXPECT_LT(error, 2e-6);
  }
}

TEST(ExpectedError, OfEveryFeatureIsAboutWhatTheTextbookErrs) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    Problem problem{2, 4, 2, 128, 192, 64, 32, dtype, 0.125F};
    problem.softcap = 1.0F;
    problem.bias = BiasShape::head;
    problem.alibi = problem.sink = true;
    problem.dropout.probability = 0.2F;
    const Case c(problem, kTopLeft, 1.0F);
    const ExpectedErrors expected = c.expected();
    const TextbookAttention textbook = textbook_attention(c.problem, c.mask, c.inputs);
    for (const TensorId id : outputs_of(problem)) {
      double size = 0.0;
      for (const double x : c.exact.of(id)) size += x * x;
      const double output_rounding = unit_roundoff(dtype_of(id, problem)) / std::sqrt(3.0) *
                                     std::sqrt(size / static_cast<double>(c.exact.of(id).size()));
      const double ratio =
          rms_error(textbook.of(id), c.exact.of(id)) / std::hypot(expected.of(id).rms, output_rounding);
      // dSink is four numbers, which may happen to err little.
      EXPECT_GT(ratio, id == TensorId::dsink ? 0.01 : 0.02) << name_of(dtype) << ' ' << name_of(id);
      EXPECT_LT(ratio, 1.2) << name_of(dtype) << ' ' << name_of(id);
    }
  }
}

TEST(ExpectedError, OfDbiasGrowsWithTheRootOfThePairsSummed) {
  Problem problem{3, 4, 2, 20, 30, 8, 8, DType::bf16, 0.35F};
  problem.bias = BiasShape::full;
  const Case full(problem, kNoMask, 1.0F);
  problem.bias = BiasShape::shared;
  Case shared(problem, kNoMask, 1.0F);
  shared.exact.statistics = full.exact.statistics;
  shared.exact.o = full.exact.o;
  const Spread one = full.expected().dbias;
  const Spread twelve = shared.expected().dbias;
  EXPECT_NEAR(twelve.rms, std::sqrt(12.0) * one.rms, 1e-9);
  EXPECT_NEAR(twelve.row_rms, std::sqrt(12.0) * one.row_rms, 1e-9);
  EXPECT_NEAR(twelve.max, std::sqrt(12.0) * one.max, 1e-9);
}

TEST(ExpectedError, OfTensorsWithoutElementsIsZero) {
  Problem problem{1, 2, 1, 1, 1, 4, 4, DType::fp16, 0.5F};
  problem.bias = BiasShape::shared;
  problem.sink = true;
  make_grouped(problem, {0}, {3});
  const ExpectedErrors expected = Case(problem, kNoMask, 1.0F).expected();
  for (const TensorId id : {TensorId::o, TensorId::dq, TensorId::dk, TensorId::dbias, TensorId::dsink}) {
    EXPECT_EQ(expected.of(id).max, 0.0) << name_of(id);
  }
}

TEST(ExpectedError, OfAnInputIsRefused) {
  EXPECT_THROW(ExpectedErrors{}.of(TensorId::q), std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
