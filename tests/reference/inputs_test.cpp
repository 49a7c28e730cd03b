#include "reference/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/random.h"

namespace fmha_bwd {
namespace {

using ::testing::Each;

Problem odd_problem(DType dtype) {
  Problem problem;
  problem.batch = 2;
  problem.nhead_q = 4;
  problem.nhead_k = 2;
  problem.seqlen_q = 67;
  problem.seqlen_k = 131;
  problem.hdim_q = 33;
  problem.hdim_v = 17;
  problem.dtype = dtype;
  return problem;
}

TEST(Inputs, EachElementTakesItsWordOfItsQuadOfItsTensorsStream) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    const Problem problem = odd_problem(dtype);
    for (const TensorId id : inputs_of(problem)) {
      const std::vector<float> values =
          values_of(draw_input(id, problem, {.seed = 9, .standard_deviation = 0.5F}));
      ASSERT_EQ(static_cast<std::int64_t>(values.size()), shape_of(id, problem).elements());
      for (std::size_t e = 0; e < values.size(); ++e) {
        const std::uint32_t word = philox_quad(9, static_cast<std::uint64_t>(id), e / 4)[e % 4];
        ASSERT_EQ(values[e], round_to(dtype, input_value(word, 0.5F))) << name_of(id) << " " << e;
      }
    }
  }
}

TEST(Inputs, TheNumberOfThreadsDoesNotMatter) {
  const Problem problem = odd_problem(DType::fp16);
  const HostTensor alone = draw_input(TensorId::k, problem, {}, {1, {}});
  for (const int threads : {2, 3, 8}) {
    EXPECT_EQ(draw_input(TensorId::k, problem, {}, {threads, {}}).bytes, alone.bytes);
  }
}

TEST(Inputs, AShorterTensorIsTheBeginningOfALongerOne) {
  Problem problem = odd_problem(DType::fp32);
  const std::vector<float> whole = values_of(draw_input(TensorId::q, problem, {}));
  problem.batch = 1;
  const std::vector<float> half = values_of(draw_input(TensorId::q, problem, {}));
  EXPECT_TRUE(std::equal(half.begin(), half.end(), whole.begin()));
}

TEST(Inputs, SeedsAndTensorsDiffer) {
  Problem problem;
  const HostTensor q = draw_input(TensorId::q, problem, {.seed = 1});
  EXPECT_NE(draw_input(TensorId::q, problem, {.seed = 2}).bytes, q.bytes);
  EXPECT_NE(draw_input(TensorId::k, problem, {.seed = 1}).bytes, q.bytes);
}

TEST(Inputs, HaveTheSpreadAskedFor) {
  const Problem problem;
  for (const float spread : {0.1F, 1.0F}) {
    double sum = 0.0;
    double squares = 0.0;
    const std::vector<float> values = draw_inputs(problem, {.standard_deviation = spread}).v;
    for (const float x : values) {
      sum += static_cast<double>(x);
      squares += static_cast<double>(x) * static_cast<double>(x);
    }
    const auto n = static_cast<double>(values.size());
    EXPECT_NEAR(sum / n / static_cast<double>(spread), 0.0, 5.0 / std::sqrt(n));
    EXPECT_NEAR(std::sqrt(squares / n) / static_cast<double>(spread), 1.0, 5.0 / std::sqrt(2.0 * n));
  }
}

TEST(Inputs, FillsMapTheSameIntegersToTheirValues) {
  const Problem problem = odd_problem(DType::fp32);
  const auto word = [](std::size_t e) { return philox_quad(42, 2, e / 4)[e % 4]; };
  const auto v_of = [&](FillKind kind) {
    return values_of(draw_input(TensorId::v, problem, {.kind = kind}));
  };
  const std::vector<float> uniform = v_of(FillKind::uniform);
  const std::vector<float> integers = v_of(FillKind::integers);
  for (std::size_t e = 0; e < uniform.size(); ++e) {
    EXPECT_EQ(uniform[e], static_cast<float>(word(e) >> 8) / 16777216.0F);
    EXPECT_EQ(integers[e], std::floor(static_cast<double>(word(e)) * 5.0 / 0x1p32) - 2.0);
  }
  EXPECT_THAT(v_of(FillKind::zeros), Each(0.0F));
}

TEST(Inputs, AnExtremeFillScoresAbout120OfEitherSign) {
  Problem problem = odd_problem(DType::fp16);
  problem.scale = default_scale(problem.hdim_q);
  const AttentionInputs inputs = draw_inputs(problem, {.kind = FillKind::extreme});
  int positive = 0;
  for (std::int64_t i = 0; i < problem.seqlen_q; ++i) {
    for (std::int64_t j = 0; j < problem.seqlen_k; ++j) {
      double score = 0.0;
      for (std::int64_t c = 0; c < problem.hdim_q; ++c) {
        score += static_cast<double>(inputs.q[i * problem.hdim_q + c]) *
                 static_cast<double>(inputs.k[j * problem.hdim_q + c]);
      }
      score *= static_cast<double>(problem.scale);
      EXPECT_NEAR(std::abs(score), 120.0, 5.0);
      positive += score > 0.0 ? 1 : 0;
    }
  }
  const std::int64_t pairs = problem.seqlen_q * problem.seqlen_k;
  EXPECT_GT(positive, pairs / 4);
  EXPECT_LT(positive, pairs * 3 / 4);
}

TEST(Inputs, DoMayBeOneWhateverTheFill) {
  const Problem problem = odd_problem(DType::bf16);
  for (const FillKind kind : {FillKind::normal, FillKind::zeros, FillKind::extreme}) {
    EXPECT_THAT(draw_inputs(problem, {.kind = kind, .d_o_is_one = true}).d_o, Each(1.0F));
  }
}

TEST(Inputs, BiasSlopesAndSinksAreThereWhereTheProblemHasThem) {
  Problem problem = odd_problem(DType::bf16);
  const AttentionInputs without = draw_inputs(problem, {});
  EXPECT_TRUE(without.bias.empty() && without.slopes.empty() && without.sink.empty());
  problem.bias = BiasShape::batch;
  problem.alibi = problem.sink = true;
  AttentionInputs with = draw_inputs(problem, {.standard_deviation = 1.0F});
  EXPECT_EQ(with.bias.size(), 2U * 67U * 131U);
  EXPECT_EQ(with.slopes, (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F}));
  const PhiloxWords words = philox_quad(42, static_cast<std::uint64_t>(TensorId::sink), 0);
  for (std::size_t h = 0; h < 4; ++h) EXPECT_EQ(with.sink[h], input_value(words[h], 1.0F));
  EXPECT_EQ(&with.of(TensorId::sink), &with.sink);
  EXPECT_THROW(with.of(TensorId::dsink), std::invalid_argument);
}

TEST(Inputs, AGroupsRowsAreDrawnAsThoseOfOneSequence) {
  Problem problem = odd_problem(DType::fp32);
  make_grouped(problem, {3, 0, 5}, {0, 4, 1});
  Problem whole = odd_problem(DType::fp32);
  whole.batch = 1;
  whole.seqlen_q = 8;
  whole.seqlen_k = 5;
  for (const TensorId id : inputs_of(problem)) {
    EXPECT_EQ(draw_input(id, problem, {}).bytes, draw_input(id, whole, {}).bytes) << name_of(id);
  }
  make_grouped(problem, {0}, {0});
  EXPECT_TRUE(draw_input(TensorId::q, problem, {}).bytes.empty());
}

// The checksum that reports print for the default problem; every platform must give it. Confirmed by a Python
// program with normal quantiles of its own (statistics.NormalDist).
TEST(Inputs, TheDefaultProblemHasItsPinnedChecksum) {
  Checksum checksum;
  for (const TensorId id : inputs_of(Problem{})) checksum.add(draw_input(id, Problem{}, Fill{}));
  EXPECT_EQ(checksum.value(), 0x2ba3daf8cc171518u);
}

}  // namespace
}  // namespace fmha_bwd
