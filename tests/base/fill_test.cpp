#include "base/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace fmha_bwd {
namespace {

constexpr std::array<TensorId, 6> kDrawn = {TensorId::q,   TensorId::k,    TensorId::v,
                                            TensorId::d_o, TensorId::bias, TensorId::sink};

float element(const FillRule& rule, std::uint64_t number, std::uint64_t row = 0) {
  return rule.value(philox_quad(rule.seed, rule.stream, number / 4)[number % 4], row);
}

FillRule rule_of(TensorId id, FillKind kind, float standard_deviation = 0.1F) {
  return fill_rule(id, Problem{}, {.seed = 42, .standard_deviation = standard_deviation, .kind = kind});
}

TEST(Fill, AKindHasANameThatLeadsBack) {
  for (const FillKind kind :
       {FillKind::normal, FillKind::uniform, FillKind::integers, FillKind::zeros, FillKind::extreme}) {
    EXPECT_EQ(fill_kind_named(name_of(kind)), kind);
  }
  EXPECT_EQ(name_of(FillKind::extreme), "extreme");
  EXPECT_EQ(fill_kind_named("gauss"), std::nullopt);
}

TEST(Fill, EveryTensorHasAStreamOfItsOwnAndSignsHaveOthers) {
  std::set<std::uint64_t> streams;
  for (const TensorId id : kDrawn) {
    const FillRule rule = rule_of(id, FillKind::extreme);
    streams.insert(rule.stream);
    streams.insert(rule.sign_stream);
    EXPECT_EQ(rule.stream, static_cast<std::uint64_t>(id));
  }
  EXPECT_EQ(streams.size(), 2 * kDrawn.size());
}

// The default inputs' bits; a change here changes every checksum.
TEST(Fill, NormalsAreThoseOfTheInputsEverSince) {
  const FillRule rule = rule_of(TensorId::q, FillKind::normal);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(element(rule, 0)), 0x3ceb250du);  // 0.0287041906
  EXPECT_EQ(std::bit_cast<std::uint32_t>(element(rule, 1)), 0xbc0124f6u);  // -0.00788234733
  EXPECT_EQ(std::bit_cast<std::uint32_t>(element(rule, 2)), 0xbe14b2e8u);  // -0.145213723
  EXPECT_EQ(std::bit_cast<std::uint32_t>(element(rule, 3)), 0xbd27fb76u);  // -0.0410112962
}

TEST(Fill, NormalsHaveTheStandardDeviation) {
  const FillRule rule = rule_of(TensorId::v, FillKind::normal, 2.0F);
  double sum = 0.0;
  double squares = 0.0;
  constexpr std::uint64_t kDraws = 40'000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = static_cast<double>(element(rule, i));
    sum += x;
    squares += x * x;
  }
  // Five standard errors: 2 / 200, and 4 sqrt(2) / 200.
  EXPECT_NEAR(sum / kDraws, 0.0, 0.05);
  EXPECT_NEAR(squares / kDraws, 4.0, 0.1415);
}

TEST(Fill, UniformsAreInTheHalfOpenUnitInterval) {
  const FillRule rule = rule_of(TensorId::k, FillKind::uniform);
  EXPECT_EQ(rule.value(0, 0), 0.0F);
  EXPECT_EQ(rule.value(0x80000000u, 0), 0.5F);
  EXPECT_EQ(rule.value(0xffffffffu, 0), 1.0F - 0x1p-24F);
  double sum = 0.0;
  constexpr std::uint64_t kDraws = 40'000;
  for (std::uint64_t i = 0; i < kDraws; ++i) sum += static_cast<double>(element(rule, i));
  EXPECT_NEAR(sum / kDraws, 0.5, 5.0 / std::sqrt(12.0 * kDraws));
}

TEST(Fill, IntegersAreTheFiveAroundZeroEquallyOften) {
  const FillRule rule = rule_of(TensorId::k, FillKind::integers);
  EXPECT_EQ(rule.value(0, 0), -2.0F);
  EXPECT_EQ(rule.value(0xffffffffu, 0), 2.0F);
  EXPECT_EQ(rule.value(0x33333333u, 0), -2.0F);  // 2^32 / 5 is 858993459.2
  EXPECT_EQ(rule.value(0x33333334u, 0), -1.0F);
  EXPECT_EQ(rule.value(0x7fffffffu, 0), 0.0F);
  std::array<int, 5> counts = {};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const float x = element(rule, i);
    ASSERT_EQ(x, std::round(x));
    ASSERT_LE(std::abs(x), 2.0F);
    ++counts.at(static_cast<std::size_t>(x + 2.0F));
  }
  for (const int count : counts) EXPECT_NEAR(count, 2000, 200);  // five standard errors
}

TEST(Fill, ZerosAreZero) {
  for (const TensorId id : kDrawn) EXPECT_EQ(element(rule_of(id, FillKind::zeros), 7), 0.0F);
}

TEST(Fill, DOMayBeOneWithEveryKind) {
  for (const FillKind kind :
       {FillKind::normal, FillKind::uniform, FillKind::integers, FillKind::zeros, FillKind::extreme}) {
    const Fill fill = {.kind = kind, .d_o_is_one = true};
    EXPECT_EQ(element(fill_rule(TensorId::d_o, Problem{}, fill), 5), 1.0F);
    EXPECT_EQ(fill_rule(TensorId::q, Problem{}, fill).map, rule_of(TensorId::q, kind).map);
  }
}

TEST(Fill, OtherSeedsGiveOtherValues) {
  const Problem problem;
  EXPECT_NE(element(fill_rule(TensorId::q, problem, {.seed = 1}), 0),
            element(fill_rule(TensorId::q, problem, {.seed = 2}), 0));
}

/// scale * (Q K^T) of the first rows of an extreme fill.
double extreme_score(const Problem& problem, std::uint64_t query, std::uint64_t key) {
  const Fill fill = {.kind = FillKind::extreme};
  const FillRule q = fill_rule(TensorId::q, problem, fill);
  const FillRule k = fill_rule(TensorId::k, problem, fill);
  const auto columns = static_cast<std::uint64_t>(problem.hdim_q);
  double sum = 0.0;
  for (std::uint64_t c = 0; c < columns; ++c) {
    sum += static_cast<double>(round_to(problem.dtype, element(q, query * columns + c, query))) *
           static_cast<double>(round_to(problem.dtype, element(k, key * columns + c, key)));
  }
  return static_cast<double>(problem.scale) * sum;
}

TEST(Fill, ExtremeScoresAreNear120OfEitherSign) {
  for (const std::int64_t hdim : {16, 128, 256}) {
    for (const float scale : {default_scale(hdim), 1.0F, -0.5F}) {
      for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
        Problem problem;
        problem.hdim_q = hdim;
        problem.scale = scale;
        problem.dtype = dtype;
        int positive = 0;
        for (std::uint64_t query = 0; query < 12; ++query) {
          for (std::uint64_t key = 0; key < 12; ++key) {
            const double score = extreme_score(problem, query, key);
            ASSERT_TRUE(std::abs(std::abs(score) - 120.0) <= 6.0) << score;
            positive += score > 0.0 ? 1 : 0;
          }
        }
        EXPECT_GT(positive, 20);
        EXPECT_LT(positive, 124);
      }
    }
  }
}

TEST(Fill, AnExtremeRowHasOneSignAndValuesThatVary) {
  const FillRule rule = rule_of(TensorId::q, FillKind::extreme);
  for (std::uint64_t row = 0; row < 20; ++row) {
    std::set<float> values;
    for (std::uint64_t c = 0; c < 128; ++c) values.insert(element(rule, row * 128 + c, row));
    EXPECT_EQ(*values.begin() < 0.0F, *values.rbegin() < 0.0F) << row;
    EXPECT_GT(values.size(), 100u);
  }
}

TEST(Fill, TheOthersOfAnExtremeFillHaveStandardDeviation3) {
  for (const TensorId id : {TensorId::v, TensorId::d_o, TensorId::bias, TensorId::sink}) {
    const FillRule rule = rule_of(id, FillKind::extreme);
    EXPECT_EQ(rule.map, FillRule::Map::normal);
    EXPECT_EQ(rule.size, 3.0F);
  }
}

TEST(Fill, AScaleOfZeroHasNoExtremeScoresButFiniteValues) {
  Problem problem;
  problem.scale = 0.0F;
  EXPECT_EQ(fill_rule(TensorId::q, problem, {.kind = FillKind::extreme}).size, 1.0F);
}

}  // namespace
}  // namespace fmha_bwd
