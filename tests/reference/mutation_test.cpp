// Whether the budgets let through what is right and nothing else: correct implementations of every habit
// pass, and a kernel with one fault does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "reference/verify.h"
#include "tests/reference/naive_attention.h"

namespace fmha_bwd {
namespace {

struct Setting {
  DType dtype;
  float standard_deviation;
  bool tails;  // 37 x 53 x 80, 48 with two query heads to a key head; else 64 x 64 x 128
  MaskSpec mask;

  Problem problem() const {
    if (tails) return {1, 4, 2, 37, 53, 80, 48, dtype, default_scale(80)};
    return {1, 2, 2, 64, 64, 128, 128, dtype, default_scale(128)};
  }
};

std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << name_of(s.dtype) << ", std " << s.standard_deviation << (s.tails ? ", tails, " : ", ")
             << name_of(s.mask);
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const float standard_deviation : {0.1F, 1.0F}) {
      for (const bool tails : {false, true}) {
        for (const MaskSpec& mask : basic_masks()) all.push_back({dtype, standard_deviation, tails, mask});
      }
    }
  }
  return all;
}

const std::array<testing::KernelHabits, 3> kHabits = {{
    {},
    {.rounds_operands = false, .parallel_sums = 1},
    {.base_two = false, .last_to_first = false, .parallel_sums = 64},
}};

/// A faulty kernel for every setting.
class Mutation : public ::testing::TestWithParam<Setting> {
 protected:
  const Problem problem_ = GetParam().problem();
  const AttentionInputs inputs_ =
      draw_inputs(problem_, {.standard_deviation = GetParam().standard_deviation});
  const MaskSpec mask_ = GetParam().mask;
  const Reference reference_ = reference_for(problem_, mask_, inputs_);

  TensorVerdict judge(TensorId id, const std::vector<float>& values) const {
    return verify(id, tensor_from(values, shape_of(id, problem_), dtype_of(id, problem_)), reference_);
  }
  bool passes(TensorId id, const std::vector<float>& values) const { return judge(id, values).passed; }

  /// A right tensor to put a fault into.
  std::vector<float> textbook(TensorId id) const { return reference_.textbook.of(id); }

  /// The gradients that do not pass, of a kernel that computed `wrong`.
  std::vector<TensorId> caught(const TextbookAttention& wrong) const {
    std::vector<TensorId> ids;
    for (const TensorId id : gradients_of(problem_)) {
      if (!passes(id, wrong.of(id))) ids.push_back(id);
    }
    return ids;
  }
};
INSTANTIATE_TEST_SUITE_P(Settings, Mutation, ::testing::ValuesIn(settings()));

TEST_P(Mutation, TheTruthRoundedPasses) {
  for (const TensorId id : outputs_of(problem_)) {
    const std::vector<double>& truth = reference_.exact.of(id);
    EXPECT_TRUE(passes(id, {truth.begin(), truth.end()})) << name_of(id);
  }
}

TEST_P(Mutation, TheTextbookPassesWithinHalfOfItsBudget) {
  for (const TensorId id : outputs_of(problem_)) {
    const TensorVerdict verdict = judge(id, textbook(id));
    EXPECT_TRUE(verdict.passed) << name_of(id);
    EXPECT_LT(verdict.budget_share(), 0.5) << name_of(id);
  }
}

TEST_P(Mutation, CorrectKernelsOfOtherHabitsPass) {
  for (const testing::KernelHabits& habits : kHabits) {
    const auto kernel = testing::kernel_like_attention(problem_, mask_, inputs_, habits);
    for (const TensorId id : outputs_of(problem_)) EXPECT_TRUE(passes(id, kernel.of(id))) << name_of(id);
  }
}

TEST_P(Mutation, ZerosFail) {
  for (const TensorId id : outputs_of(problem_))
    EXPECT_FALSE(passes(id, std::vector<float>(textbook(id).size()))) << name_of(id);
}

TEST_P(Mutation, UniformNoiseFails) {
  for (const TensorId id : gradients_of(problem_)) {
    std::vector<float> noise = textbook(id);
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<float>(i * 7919 % 1000) / 1000.0F;
    EXPECT_FALSE(passes(id, noise)) << name_of(id);
  }
}

TEST_P(Mutation, OneNaNFails) {
  for (const TensorId id : outputs_of(problem_)) {
    std::vector<float> values = textbook(id);
    values[values.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(passes(id, values)) << name_of(id);
  }
}

TEST_P(Mutation, OneRowInAnothersPlaceFails) {
  for (const TensorId id : gradients_of(problem_)) {
    // With small scores and no mask P is uniform and the rows of dV are alike.
    if (id == TensorId::dv && GetParam().standard_deviation < 1.0F && GetParam().mask == kNoMask) continue;
    const std::int64_t columns = shape_of(id, problem_).column;
    std::vector<float> values = textbook(id);
    const auto row = values.begin() + 11 * columns;
    std::copy(row + columns, row + 2 * columns, row);
    EXPECT_FALSE(passes(id, values)) << name_of(id);
  }
}

TEST_P(Mutation, OneRowOfZerosFails) {
  for (const TensorId id : gradients_of(problem_)) {
    const std::int64_t columns = shape_of(id, problem_).column;
    std::vector<float> values = textbook(id);
    std::fill_n(values.begin() + 11 * columns, columns, 0.0F);
    EXPECT_FALSE(passes(id, values)) << name_of(id);
  }
}

TEST_P(Mutation, AMaskThatHidesOneKeyMoreFails) {
  MaskSpec fewer = shifted(mask_, -1);
  if (mask_ == kNoMask) {  // all but the last key
    fewer.right = -kUnbounded;
    fewer.prefix = problem_.seqlen_k - 1;
  }
  const TextbookAttention wrong = textbook_attention(problem_, fewer, inputs_);
  EXPECT_THAT(caught(wrong), ::testing::Contains(TensorId::dv));
}

TEST_P(Mutation, AMaskThatShowsOneKeyMoreFails) {
  if (GetParam().mask == kNoMask) return;  // has no further key
  EXPECT_EQ(caught(textbook_attention(problem_, shifted(mask_, 1), inputs_)).size(), 3u);
}

TEST_P(Mutation, GradientsWithoutTheScaleFail) {
  for (const TensorId id : {TensorId::dq, TensorId::dk}) {
    std::vector<float> values = textbook(id);
    for (float& x : values) x /= problem_.scale;
    EXPECT_FALSE(passes(id, values)) << name_of(id);
  }
}

TEST_P(Mutation, ScoresWithoutTheScaleFail) {
  Problem unscaled = problem_;
  unscaled.scale = 1.0F;
  TextbookAttention wrong = textbook_attention(unscaled, mask_, inputs_);
  for (float& x : wrong.dq) x *= problem_.scale;
  for (float& x : wrong.dk) x *= problem_.scale;
  EXPECT_EQ(caught(wrong).size(), 3u);
}

TEST_P(Mutation, OnePercentMoreFails) {
  for (const TensorId id : gradients_of(problem_)) {
    std::vector<float> values = textbook(id);
    for (float& x : values) x *= 1.01F;
    EXPECT_FALSE(passes(id, values)) << name_of(id);
  }
}

TEST_P(Mutation, AForgottenDFails) {
  // dS = P * dP instead of P * (dP - D): dQ is off by scale * D * P K, here from P K = d O with V = K.
  std::vector<float> values = textbook(TensorId::dq);
  Problem keys_as_values = problem_;
  keys_as_values.hdim_v = problem_.hdim_q;
  const AttentionInputs other{inputs_.q, inputs_.k, inputs_.k, inputs_.q};
  const ExactAttention means = exact_attention(keys_as_values, mask_, other);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double d = reference_.exact.d[i / static_cast<std::size_t>(problem_.hdim_q)];
    values[i] += static_cast<float>(static_cast<double>(problem_.scale) * d * means.o[i]);
  }
  EXPECT_FALSE(passes(TensorId::dq, values));
}

TEST(MutationOfAGroup, AQueryHeadLeftOutOfDkAndDvFails) {
  const Problem problem{1, 4, 1, 64, 64, 64, 64, DType::bf16, 0.125F};
  const MaskSpec& mask = kTopLeft;
  AttentionInputs inputs = draw_inputs(problem, {});
  const Reference reference = reference_for(problem, mask, inputs);
  std::fill_n(inputs.d_o.begin(), 64 * 64, 0.0F);  // the first head adds nothing
  const TextbookAttention wrong = textbook_attention(problem, mask, inputs);
  for (const TensorId id : {TensorId::dk, TensorId::dv}) {
    EXPECT_FALSE(
        verify(id, tensor_from(wrong.of(id), shape_of(id, problem), problem.dtype), reference).passed);
  }
}

TEST(MutationOfOnePair, DqAndDkOfOneQueryAndOneKeyMustBeRoundingOnly) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    const Problem problem{1, 1, 1, 1, 1, 64, 64, dtype, 0.125F};
    const AttentionInputs inputs = draw_inputs(problem, {});
    const Reference reference = reference_for(problem, kNoMask, inputs);
    const auto passes = [&](TensorId id, const std::vector<float>& values) {
      return verify(id, tensor_from(values, shape_of(id, problem), dtype), reference).passed;
    };
    EXPECT_TRUE(passes(TensorId::dq, std::vector<float>(64)));
    EXPECT_TRUE(passes(TensorId::dk, std::vector<float>(64)));
    EXPECT_TRUE(passes(TensorId::dv, inputs.d_o));
    EXPECT_FALSE(passes(TensorId::dv, std::vector<float>(64)));
    std::vector<float> without_d = inputs.k;
    for (float& x : without_d) x *= problem.scale * static_cast<float>(reference.exact.d[0]);
    EXPECT_FALSE(passes(TensorId::dq, without_d)) << name_of(dtype);
  }
}

}  // namespace
}  // namespace fmha_bwd
