// One query and two keys, small enough to be computed by hand with every feature.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention.h"

namespace fmha_bwd {
namespace {

/// One query and two keys with the scores 0 and log 3; hdim is 1, Q = 2, dO = 2, V = (0, 4), scale = 1/2.
struct ByHand {
  Problem problem{1, 1, 1, 1, 2, 1, 1, DType::fp32, 0.5F};
  AttentionInputs inputs{.q = {2.0F}, .k = {0.0F, std::log(3.0F)}, .v = {0.0F, 4.0F}, .d_o = {2.0F}};

  ExactAttention exact(const MaskSpec& mask = kNoMask) const {
    return exact_attention(problem, mask, inputs);
  }
};

TEST(AttentionByHand, WithoutFeaturesEveryOutputIsAsTheFormulasSay) {
  // P = (1/4, 3/4), O = 3, D = 6, dP = (0, 8), dS = (-3/2, 3/2).
  const ByHand c;
  const ExactAttention exact = c.exact();
  EXPECT_NEAR(exact.o[0], 3.0, 1e-6);
  EXPECT_NEAR(exact.lse[0], std::log(4.0), 1e-6);
  EXPECT_NEAR(exact.d[0], 6.0, 1e-6);
  EXPECT_NEAR(exact.dq[0], 0.75 * std::log(3.0), 1e-6);
  EXPECT_NEAR(exact.dk[0], -1.5, 1e-6);
  EXPECT_NEAR(exact.dk[1], 1.5, 1e-6);
  EXPECT_NEAR(exact.dv[0], 0.5, 1e-6);
  EXPECT_NEAR(exact.dv[1], 1.5, 1e-6);
}

TEST(AttentionByHand, ASinkTakesItsShareOfTheSoftmax) {
  ByHand c;
  c.problem.sink = true;
  c.inputs.sink = {std::log(4.0F)};
  // P = (1/8, 3/8) and 1/2 for the sink, O = 3/2, D = 3, dP = (0, 8), dS = (-3/8, 15/8).
  const ExactAttention exact = c.exact();
  EXPECT_NEAR(exact.lse[0], std::log(8.0), 1e-6);
  EXPECT_NEAR(exact.o[0], 1.5, 1e-6);
  EXPECT_NEAR(exact.d[0], 3.0, 1e-6);
  EXPECT_NEAR(exact.dk[0], -0.375, 1e-6);
  EXPECT_NEAR(exact.dk[1], 1.875, 1e-6);
  EXPECT_NEAR(exact.dsink[0], -1.5, 1e-6);
}

TEST(AttentionByHand, ASoftCapScalesTheGradientsOfTheScores) {
  ByHand c;
  c.problem.softcap = 2.0F;
  // softcap(x) = log 3 for x = 2 artanh(log 3 / 2), where its slope is 1 - (log 3 / 2)^2.
  const double share = std::log(3.0) / 2.0;
  c.inputs.k[1] = static_cast<float>(2.0 * std::atanh(share));
  const ExactAttention exact = c.exact();
  EXPECT_NEAR(exact.lse[0], std::log(4.0), 1e-6);
  EXPECT_NEAR(exact.dk[0], -1.5, 1e-6);
  EXPECT_NEAR(exact.dk[1], 1.5 * (1.0 - share * share), 1e-6);
}

TEST(AttentionByHand, ABiasTakesTheGradientOfItsScore) {
  ByHand c;
  c.problem.bias = BiasShape::full;
  c.inputs.bias = c.inputs.k;
  c.inputs.k = {0.0F, 0.0F};
  const ExactAttention exact = c.exact();
  EXPECT_NEAR(exact.lse[0], std::log(4.0), 1e-6);
  EXPECT_NEAR(exact.dbias[0], -1.5, 1e-6);
  EXPECT_NEAR(exact.dbias[1], 1.5, 1e-6);
  EXPECT_EQ(exact.dq[0], 0.0);
}

TEST(AttentionByHand, AlibiCountsFromTheDiagonalOfTheMask) {
  ByHand c;
  c.problem.alibi = true;
  c.inputs.slopes = {std::log(2.0F)};
  c.inputs.k = {0.0F, 0.0F};
  // The query stands at key 1: the weights are 1/3 and 2/3.
  EXPECT_NEAR(c.exact().o[0], 8.0 / 3.0, 1e-6);
  // It stands at key 0: 2/3 and 1/3.
  MaskSpec top_left;
  top_left.alignment = Alignment::top_left;
  EXPECT_NEAR(c.exact(top_left).o[0], 4.0 / 3.0, 1e-6);
}

TEST(AttentionByHand, DropoutDropsWhatItsDrawsSayAndScalesTheRest) {
  ByHand c;
  c.problem.dropout = {.probability = 0.5F};
  // The low halves of the first two integers of seed 4 are f369 and 4857, by a Philox in Python.
  c.problem.dropout.seed = 4;
  // Key 0 is dropped. P = (1/4, 3/4), O = 2 * 3 = 6, D = 12, dP = (0, 16), dS = (-3, 3).
  const ExactAttention exact = c.exact();
  EXPECT_NEAR(exact.lse[0], std::log(4.0), 1e-6);
  EXPECT_NEAR(exact.o[0], 6.0, 1e-6);
  EXPECT_NEAR(exact.dk[0], -3.0, 1e-6);
  EXPECT_NEAR(exact.dk[1], 3.0, 1e-6);
  EXPECT_EQ(exact.dv[0], 0.0);
  EXPECT_NEAR(exact.dv[1], 3.0, 1e-6);
}

}  // namespace
}  // namespace fmha_bwd
