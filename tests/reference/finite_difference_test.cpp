// The gradients against central differences of L = sum(dO * O), which need only the forward pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention.h"

namespace fmha_bwd {
namespace {

double loss(const Problem& problem, const Mask& mask, const AttentionInputs& inputs) {
  const ExactAttention exact = exact_attention(problem, mask, inputs, {1, {}});
  double sum = 0.0;
  for (std::size_t i = 0; i < exact.o.size(); ++i) sum += static_cast<double>(inputs.d_o[i]) * exact.o[i];
  return sum;
}

/// Compares dL/d(input.*field) with `gradient`, to 1e-6 of the largest one.
void expect_gradient(const Problem& problem, const Mask& mask, const AttentionInputs& inputs,
                     std::vector<float> AttentionInputs::*field, const std::vector<double>& gradient) {
  constexpr float kStep = 0x1p-12F;
  double largest = 0.0;
  for (const double x : gradient) largest = std::max(largest, std::abs(x));
  ASSERT_GT(largest, 0.01);
  AttentionInputs moved = inputs;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float& x = (moved.*field)[i];
    const float middle = x;
    x = middle + kStep;
    const double up_at = static_cast<double>(x);
    const double up = loss(problem, mask, moved);
    x = middle - kStep;
    const double down_at = static_cast<double>(x);
    const double down = loss(problem, mask, moved);
    x = middle;
    const double difference = (up - down) / (up_at - down_at);
    ASSERT_TRUE(std::abs(difference - gradient[i]) <= 1e-6 * largest)
        << i << ": " << difference << " is not " << gradient[i];
  }
}

class FiniteDifferences : public ::testing::TestWithParam<MaskKind> {};
INSTANTIATE_TEST_SUITE_P(Masks, FiniteDifferences, ::testing::ValuesIn(kAllMaskKinds));

TEST_P(FiniteDifferences, GiveTheGradients) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{5, 5}, std::pair{3, 7}, std::pair{7, 3}}) {
    // Two query heads to a key head, and hdim_q != hdim_v.
    const Problem problem{2, 4, 2, seqlen_q, seqlen_k, 3, 5, DType::fp32, 0.7F};
    const Mask mask(GetParam(), seqlen_q, seqlen_k);
    const AttentionInputs inputs = draw_inputs(problem, {.seed = 3, .standard_deviation = 1.0F});
    const ExactAttention exact = exact_attention(problem, mask, inputs);
    expect_gradient(problem, mask, inputs, &AttentionInputs::q, exact.dq);
    expect_gradient(problem, mask, inputs, &AttentionInputs::k, exact.dk);
    expect_gradient(problem, mask, inputs, &AttentionInputs::v, exact.dv);
  }
}

}  // namespace
}  // namespace fmha_bwd
