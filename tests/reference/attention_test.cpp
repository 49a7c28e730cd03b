#include "reference/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/sequences.h"
#include "tests/reference/feature_cases.h"
#include "tests/reference/naive_attention.h"
#include "tests/reference/same_attention.h"

namespace fmha_bwd {
namespace {

using ::testing::Each;
using testing::expect_near;

struct Extents {
  std::int64_t batch, nhead_q, nhead_k, seqlen_q, seqlen_k, hdim_q, hdim_v;
};

Problem problem_of(const Extents& x, DType dtype = DType::fp16) {
  return {x.batch,    x.nhead_q,  x.nhead_k,
          x.seqlen_q, x.seqlen_k, x.hdim_q,
          x.hdim_v,   dtype,      default_scale(x.hdim_q)};
}

template <typename Real>
bool all_finite(const std::vector<Real>& values) {
  return std::all_of(values.begin(), values.end(), [](Real x) { return std::isfinite(x); });
}

class Shapes : public ::testing::TestWithParam<Extents> {};
INSTANTIATE_TEST_SUITE_P(Attention, Shapes,
                         ::testing::Values(Extents{1, 1, 1, 1, 1, 1, 1}, Extents{1, 1, 1, 1, 70, 3, 2},
                                           Extents{1, 1, 1, 70, 1, 3, 2}, Extents{2, 2, 2, 64, 64, 16, 16},
                                           Extents{1, 2, 1, 65, 63, 5, 9}, Extents{2, 6, 2, 37, 130, 7, 12},
                                           Extents{1, 4, 4, 129, 66, 33, 1},
                                           Extents{1, 1, 1, 128, 192, 8, 8}));

TEST_P(Shapes, AgreeWithTheNaiveOracleUnderEveryMask) {
  const Problem problem = problem_of(GetParam());
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  for (const MaskSpec& mask : basic_masks()) {
    const ExactAttention exact = exact_attention(problem, mask, inputs);
    const auto naive = testing::naive_attention(problem, mask, inputs);
    expect_near(exact.o, naive.o, 1e-13, "O");
    expect_near(exact.lse, naive.lse, 1e-13, "LSE");
    expect_near(exact.d, naive.d, 1e-13, "D");
    expect_near(exact.dq, naive.dq, 1e-13, "dQ");
    expect_near(exact.dk, naive.dk, 1e-13, "dK");
    expect_near(exact.dv, naive.dv, 1e-13, "dV");
  }
}

TEST_P(Shapes, HaveATextbookNearTheTruth) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    const Problem problem = problem_of(GetParam(), dtype);
    const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
    for (const MaskSpec& mask : basic_masks()) {
      const ExactAttention exact = exact_attention(problem, mask, inputs);
      const TextbookAttention textbook = textbook_attention(problem, mask, inputs);
      for (const TensorId id : outputs_of(problem)) {
        const std::vector<double> values(textbook.of(id).begin(), textbook.of(id).end());
        expect_near(values, exact.of(id), 30.0 * unit_roundoff(dtype), name_of(id));
      }
    }
  }
}

class Features : public ::testing::TestWithParam<testing::FeatureCase> {};
// 115 queries and 138 keys: two tiles and three, none of them whole.
INSTANTIATE_TEST_SUITE_P(Attention, Features, ::testing::ValuesIn(testing::feature_cases(23)),
                         testing::test_name);

TEST_P(Features, AgreeWithTheNaiveOracle) {
  const auto& [name, problem, mask] = GetParam();
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  const ExactAttention exact = exact_attention(problem, mask, inputs);
  const auto naive = testing::naive_attention(problem, mask, inputs);
  for (const TensorId id : outputs_of(problem)) expect_near(exact.of(id), naive.of(id), 1e-12, name_of(id));
}

TEST_P(Features, HaveATextbookNearTheTruth) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    Problem problem = GetParam().problem;
    problem.dtype = dtype;
    const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
    const ExactAttention exact = exact_attention(problem, GetParam().mask, inputs);
    const TextbookAttention textbook = textbook_attention(problem, GetParam().mask, inputs);
    for (const TensorId id : outputs_of(problem)) {
      const std::vector<double> values(textbook.of(id).begin(), textbook.of(id).end());
      expect_near(values, exact.of(id), 100.0 * unit_roundoff(dtype), name_of(id));
    }
  }
}

TEST(Attention, TheBitsDoNotDependOnTheNumberOfThreads) {
  Problem problem = problem_of({2, 4, 2, 100, 140, 24, 40});
  problem.bias = BiasShape::shared;
  problem.sink = true;
  problem.dropout.probability = 0.1F;
  const AttentionInputs inputs = draw_inputs(problem, {});
  const MaskSpec mask = kBottomRight;
  const ExactAttention exact = exact_attention(problem, mask, inputs, {1, {}});
  const TextbookAttention textbook = textbook_attention(problem, mask, inputs, {1, {}});
  for (const int threads : {2, 3}) {
    const ExactAttention other = exact_attention(problem, mask, inputs, {threads, {}});
    const TextbookAttention other_textbook = textbook_attention(problem, mask, inputs, {threads, {}});
    for (const TensorId id : outputs_of(problem)) {
      EXPECT_EQ(other.of(id), exact.of(id)) << name_of(id);
      EXPECT_EQ(other_textbook.of(id), textbook.of(id)) << name_of(id);
    }
    EXPECT_EQ(other.statistics.rows.p.rms, exact.statistics.rows.p.rms);
    EXPECT_EQ(other.statistics.columns.ds.rms, exact.statistics.columns.ds.rms);
    EXPECT_EQ(other.statistics.p_sparsity, exact.statistics.p_sparsity);
  }
}

TEST(Attention, QueriesThatSeeNoKeyHaveNoOutputAndNoGradient) {
  const Problem problem = problem_of({1, 2, 1, 128, 64, 16, 24});
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  const MaskSpec mask = kBottomRight;
  const auto expect_empty = [&](const auto& result) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t i = 0; i < 128; ++i) {
        const std::int64_t row = head * 128 + i;
        EXPECT_EQ(std::isinf(result.lse[row]), i < 64);
        EXPECT_EQ(result.d[row] == 0, i < 64);
        for (std::int64_t c = 0; c < 16; ++c) {
          // Query 64 sees one key: P is 1 and dP - D only rounding.
          if (i == 64) continue;
          EXPECT_EQ(result.dq[row * 16 + c] == 0, i < 64) << i;
        }
        for (std::int64_t c = 0; c < 24; ++c) EXPECT_EQ(result.o[row * 24 + c] == 0, i < 64);
      }
    }
    EXPECT_TRUE(all_finite(result.dq) && all_finite(result.dk) && all_finite(result.dv) &&
                all_finite(result.d));
  };
  expect_empty(exact_attention(problem, mask, inputs));
  expect_empty(textbook_attention(problem, mask, inputs));
}

TEST(Attention, KeysThatNoQuerySeesHaveNoGradient) {
  const Problem problem = problem_of({1, 1, 1, 384, 512, 8, 4});
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  const ExactAttention exact = exact_attention(problem, kTopLeft, inputs);
  for (std::int64_t j = 0; j < 512; ++j) {
    for (std::int64_t c = 0; c < 8; ++c) EXPECT_EQ(exact.dk[j * 8 + c] == 0.0, j >= 384) << j;
    for (std::int64_t c = 0; c < 4; ++c) EXPECT_EQ(exact.dv[j * 4 + c] == 0.0, j >= 384) << j;
  }
}

TEST(Attention, AMaskThatHidesEverythingHasNoGradientAtAll) {
  const Problem problem = problem_of({1, 1, 1, 70, 70, 4, 4});
  const MaskSpec mask = shifted(kTopLeft, -70);
  const ExactAttention exact = exact_attention(problem, mask, draw_inputs(problem, {}));
  EXPECT_THAT(exact.lse, Each(-std::numeric_limits<double>::infinity()));
  for (const TensorId id : {TensorId::o, TensorId::d, TensorId::dq, TensorId::dk, TensorId::dv}) {
    EXPECT_THAT(exact.of(id), Each(0.0));
  }
  EXPECT_EQ(exact.statistics.p_sparsity, 1.0);
}

TEST(Attention, QueriesThatSeeNoKeyGiveAllToTheirSink) {
  Problem problem = problem_of({1, 2, 1, 5, 3, 4, 4});
  problem.sink = true;
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  for (const std::int64_t row : {0, 1, 5, 6}) {
    const auto sink = static_cast<std::size_t>(row / 5);
    EXPECT_EQ(exact_attention(problem, kBottomRight, inputs).lse[row],
              static_cast<double>(inputs.sink[sink]));
    EXPECT_EQ(textbook_attention(problem, kBottomRight, inputs).lse[row], inputs.sink[sink]);
    EXPECT_EQ(exact_attention(problem, kBottomRight, inputs).d[row], 0.0);
  }
}

TEST(Attention, SequencesOfAGroupAreAsEachAlone) {
  Problem group = problem_of({1, 2, 1, 1, 1, 3, 5});
  make_grouped(group, {70, 0, 9}, {20, 4, 90});
  const AttentionInputs inputs = draw_inputs(group, {.standard_deviation = 1.0F});
  const ExactAttention whole = exact_attention(group, kBottomRight, inputs);
  const auto rows_of = [](const auto& tensor, std::int64_t heads, std::int64_t all, std::int64_t first,
                          std::int64_t count, std::int64_t columns) {
    std::decay_t<decltype(tensor)> rows;
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto begin = tensor.begin() + (h * all + first) * columns;
      rows.insert(rows.end(), begin, begin + count * columns);
    }
    return rows;
  };
  for (const Sequence& s : sequences_of(group)) {
    if (s.seqlen_q == 0) continue;
    const Problem alone = problem_of({1, 2, 1, s.seqlen_q, s.seqlen_k, 3, 5});
    const AttentionInputs part{.q = rows_of(inputs.q, 2, 79, s.first_q, s.seqlen_q, 3),
                               .k = rows_of(inputs.k, 1, 114, s.first_k, s.seqlen_k, 3),
                               .v = rows_of(inputs.v, 1, 114, s.first_k, s.seqlen_k, 5),
                               .d_o = rows_of(inputs.d_o, 2, 79, s.first_q, s.seqlen_q, 5)};
    const ExactAttention exact = exact_attention(alone, kBottomRight, part);
    EXPECT_EQ(rows_of(whole.lse, 2, 79, s.first_q, s.seqlen_q, 1), exact.lse);
    EXPECT_EQ(rows_of(whole.dq, 2, 79, s.first_q, s.seqlen_q, 3), exact.dq);
    EXPECT_EQ(rows_of(whole.dk, 1, 114, s.first_k, s.seqlen_k, 3), exact.dk);
    EXPECT_EQ(rows_of(whole.dv, 1, 114, s.first_k, s.seqlen_k, 5), exact.dv);
  }
}

TEST(Attention, SequencesWithoutRowsHaveNothingToCompute) {
  Problem problem = problem_of({1, 2, 2, 1, 1, 4, 4});
  problem.bias = BiasShape::full;
  problem.alibi = problem.sink = true;
  for (const auto& [q, k] : {std::pair{0, 0}, std::pair{0, 3}, std::pair{3, 0}}) {
    make_grouped(problem, {q, 0}, {k, 0});
    const ExactAttention exact = exact_attention(problem, kBottomRight, draw_inputs(problem, {}));
    EXPECT_EQ(exact.lse.size(), static_cast<std::size_t>(2 * q));
    for (const TensorId id : {TensorId::d, TensorId::dq, TensorId::dk, TensorId::dv, TensorId::dsink}) {
      EXPECT_THAT(exact.of(id), Each(0.0)) << name_of(id);
    }
    EXPECT_EQ(exact.statistics.p_sparsity, 0.0);
    EXPECT_EQ(exact.statistics.d_range.min, 0.0);
    EXPECT_EQ(exact.statistics.rows.p.rms, 0.0);
  }
}

TEST(Attention, WhatNoSequenceUsesOfABiasHasNoGradient) {
  Problem problem = problem_of({1, 1, 1, 1, 1, 2, 2});
  make_grouped(problem, {2, 1}, {1, 3});
  problem.bias = BiasShape::full;
  const ExactAttention exact =
      exact_attention(problem, kNoMask, draw_inputs(problem, {.standard_deviation = 1.0F}));
  ASSERT_EQ(exact.dbias.size(), 2U * 2U * 3U);
  for (std::size_t n = 0; n < 12; ++n) {
    const bool has_several_keys = n >= 6 && n < 9;  // the others see one key, and dS is 0
    EXPECT_EQ(std::abs(exact.dbias[n]) > 1e-6, has_several_keys) << n;
  }
}

TEST(Attention, OneQueryAndOneKeyPassOnlyDvThrough) {
  const Problem problem = problem_of({1, 1, 1, 1, 1, 16, 16}, DType::fp32);
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  const ExactAttention exact = exact_attention(problem, kNoMask, inputs);
  for (std::size_t c = 0; c < 16; ++c) {
    EXPECT_NEAR(exact.dq[c], 0.0, 1e-14);
    EXPECT_NEAR(exact.dk[c], 0.0, 1e-14);
    EXPECT_EQ(exact.dv[c], static_cast<double>(inputs.d_o[c]));
    EXPECT_EQ(exact.o[c], static_cast<double>(inputs.v[c]));
  }
}

TEST(Attention, ScoresOf120StayFinite) {
  const Problem base = problem_of({1, 1, 1, 70, 90, 1, 2}, DType::fp32);
  AttentionInputs inputs = draw_inputs(base, {.standard_deviation = 1.0F});
  for (std::size_t i = 0; i < inputs.q.size(); ++i) inputs.q[i] = i % 2 == 0 ? 12.0F : -12.0F;
  for (std::size_t j = 0; j < inputs.k.size(); ++j)
    inputs.k[j] = j % 3 == 0 ? 10.0F : -10.0F + 0.001F * static_cast<float>(j);
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    Problem problem = base;
    problem.dtype = dtype;
    problem.scale = 1.0F;
    for (const MaskSpec& mask : basic_masks()) {
      const ExactAttention exact = exact_attention(problem, mask, inputs);
      const TextbookAttention textbook = textbook_attention(problem, mask, inputs);
      EXPECT_EQ(exact.statistics.max_score, 120.0);
      for (const TensorId id : outputs_of(problem)) {
        EXPECT_TRUE(all_finite(exact.of(id))) << name_of(id);
        EXPECT_TRUE(all_finite(textbook.of(id))) << name_of(id);
      }
      const auto naive = testing::naive_attention(problem, mask, inputs);
      expect_near(exact.dq, naive.dq, 1e-12, "dQ");
      expect_near(exact.dv, naive.dv, 1e-12, "dV");
    }
  }
}

TEST(Attention, StatisticsOfUniformWeightsAreAsByHand) {
  const Problem problem = problem_of({1, 2, 1, 4, 4, 2, 1});
  const AttentionInputs zeros{
      std::vector<float>(16), std::vector<float>(8), {1.0F, 2.0F, 3.0F, 4.0F}, std::vector<float>(8, 1.0F)};
  const ExactAttention exact = exact_attention(problem, kTopLeft, zeros);
  const AttentionStatistics& statistics = exact.statistics;
  EXPECT_DOUBLE_EQ(statistics.p_sparsity, 6.0 / 16.0);
  // Query i gives 1/(i + 1) to i + 1 keys.
  EXPECT_DOUBLE_EQ(statistics.rows.p.max, 1.0);
  EXPECT_DOUBLE_EQ(statistics.rows.p.rms, std::sqrt((1.0 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4));
  // Key 0 gets 1, 1/2, 1/3, 1/4 from each of two heads.
  EXPECT_DOUBLE_EQ(statistics.columns.p.max, std::sqrt(2 * (1.0 + 1.0 / 4 + 1.0 / 9 + 1.0 / 16)));
  // D = O, the mean of the first i + 1 values.
  EXPECT_DOUBLE_EQ(statistics.d_range.min, 1.0);
  EXPECT_DOUBLE_EQ(statistics.d_range.max, 2.5);
  // Query 3: dS = (V - 2.5)/4.
  EXPECT_DOUBLE_EQ(statistics.rows.ds.max, std::sqrt(5.0) / 4.0);
  EXPECT_EQ(statistics.max_score, 0.0);
}

TEST(Attention, VanishingWeightsCountAsSparse) {
  Problem problem = problem_of({1, 1, 1, 1, 4, 1, 1});
  problem.scale = 1.0F;
  // exp(-20) = 2.1e-9 counts, exp(-21) = 7.6e-10 does not.
  const AttentionInputs inputs{{1.0F}, {0.0F, -20.0F, -21.0F, -500.0F}, std::vector<float>(4), {1.0F}};
  const ExactAttention exact = exact_attention(problem, kNoMask, inputs);
  EXPECT_DOUBLE_EQ(exact.statistics.p_sparsity, 0.5);
}

TEST(Attention, TheTextbookRoundsItsOutputsToTheType) {
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    const Problem problem = problem_of({1, 2, 1, 40, 50, 8, 8}, dtype);
    const TextbookAttention textbook = textbook_attention(problem, kTopLeft, draw_inputs(problem, {}));
    for (const TensorId id : {TensorId::o, TensorId::dq, TensorId::dk, TensorId::dv}) {
      for (const float x : textbook.of(id)) ASSERT_EQ(x, round_to(dtype, x)) << name_of(id);
    }
  }
}

TEST(Attention, TheTextbookTakesDFromTheRoundedOutput) {
  const Problem problem = problem_of({1, 1, 1, 30, 30, 8, 8}, DType::bf16);
  const AttentionInputs inputs = draw_inputs(problem, {.standard_deviation = 1.0F});
  const TextbookAttention textbook = textbook_attention(problem, kNoMask, inputs);
  for (std::size_t i = 0; i < textbook.d.size(); ++i) {
    double d = 0.0;
    for (std::size_t c = i * 8; c < i * 8 + 8; ++c) {
      d += static_cast<double>(inputs.d_o[c]) * static_cast<double>(textbook.o[c]);
    }
    EXPECT_NEAR(static_cast<double>(textbook.d[i]), d, 1e-6);
  }
}

TEST(Attention, InputsOfAnotherShapeAreRefused) {
  const Problem problem = problem_of({1, 1, 1, 4, 4, 2, 2});
  AttentionInputs inputs = draw_inputs(problem, {});
  EXPECT_NO_THROW(exact_attention(problem, kNoMask, inputs));
  for (const auto& add : {+[](Problem& p) { p.bias = BiasShape::full; }, +[](Problem& p) { p.alibi = true; },
                          +[](Problem& p) { p.sink = true; }}) {
    Problem needs_more = problem;
    add(needs_more);
    EXPECT_THROW(exact_attention(needs_more, kNoMask, inputs), std::invalid_argument);
  }
  inputs.v.pop_back();
  EXPECT_THROW(textbook_attention(problem, kNoMask, inputs), std::invalid_argument);
  EXPECT_THROW(ExactAttention{}.of(TensorId::q), std::invalid_argument);
}

TEST(Attention, TellsItsProgressUpToTheEnd) {
  const Problem problem = problem_of({1, 2, 2, 130, 130, 4, 4});
  std::vector<double> told;
  exact_attention(problem, kNoMask, draw_inputs(problem, {}),
                  {2, [&](double share) { told.push_back(share); }});
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1.0);
}

}  // namespace
}  // namespace fmha_bwd
