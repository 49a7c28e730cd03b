// The gradients against central differences of L = sum(dO * O), which need only the forward pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention.h"
#include "tests/reference/feature_cases.h"

namespace fmha_bwd {
namespace {

using testing::FeatureCase;

double loss(const FeatureCase& c, const AttentionInputs& inputs) {
  const ExactAttention exact = exact_attention(c.problem, c.mask, inputs, {1, {}});
  double sum = 0.0;
  for (std::size_t i = 0; i < exact.o.size(); ++i) sum += static_cast<double>(inputs.d_o[i]) * exact.o[i];
  return sum;
}

/// Compares dL/dinput with `gradient`, to 1e-6 of the largest one.
void expect_gradient(const FeatureCase& c, const AttentionInputs& inputs, TensorId input,
                     const std::vector<double>& gradient) {
  constexpr float kStep = 0x1p-12F;
  double largest = 0.0;
  for (const double x : gradient) largest = std::max(largest, std::abs(x));
  ASSERT_GT(largest, 0.01) << name_of(input);
  AttentionInputs moved = inputs;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float& x = moved.of(input)[i];
    const float middle = x;
    x = middle + kStep;
    const double up_at = static_cast<double>(x);
    const double up = loss(c, moved);
    x = middle - kStep;
    const double down_at = static_cast<double>(x);
    const double down = loss(c, moved);
    x = middle;
    const double difference = (up - down) / (up_at - down_at);
    ASSERT_TRUE(std::abs(difference - gradient[i]) <= 1e-6 * largest)
        << name_of(input) << ' ' << i << ": " << difference << " is not " << gradient[i];
  }
}

class FiniteDifferences : public ::testing::TestWithParam<FeatureCase> {};
INSTANTIATE_TEST_SUITE_P(Features, FiniteDifferences, ::testing::ValuesIn(testing::feature_cases(1)),
                         testing::test_name);

TEST_P(FiniteDifferences, GiveTheGradients) {
  const FeatureCase& c = GetParam();
  const AttentionInputs inputs = draw_inputs(c.problem, {.seed = 3, .standard_deviation = 1.0F});
  const ExactAttention exact = exact_attention(c.problem, c.mask, inputs);
  expect_gradient(c, inputs, TensorId::q, exact.dq);
  expect_gradient(c, inputs, TensorId::k, exact.dk);
  expect_gradient(c, inputs, TensorId::v, exact.dv);
  if (c.problem.bias != BiasShape::none) expect_gradient(c, inputs, TensorId::bias, exact.dbias);
  if (c.problem.sink) expect_gradient(c, inputs, TensorId::sink, exact.dsink);
}

TEST(FiniteDifferencesOfOtherShapes, GiveTheGradients) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{5, 5}, std::pair{3, 7}, std::pair{7, 3}}) {
    for (const MaskSpec& mask : basic_masks()) {
      const FeatureCase c{name_of(mask), {2, 4, 2, seqlen_q, seqlen_k, 3, 5, DType::fp32, 0.7F}, mask};
      const AttentionInputs inputs = draw_inputs(c.problem, {.seed = 3, .standard_deviation = 1.0F});
      const ExactAttention exact = exact_attention(c.problem, c.mask, inputs);
      expect_gradient(c, inputs, TensorId::q, exact.dq);
      expect_gradient(c, inputs, TensorId::k, exact.dk);
      expect_gradient(c, inputs, TensorId::v, exact.dv);
    }
  }
}

}  // namespace
}  // namespace fmha_bwd
