#include "reference/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace fmha_bwd {
namespace {

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

// The checksum that reports print for the default problem; every platform must give it. Confirmed by a Python
// program with normal quantiles of its own (statistics.NormalDist).
TEST(Inputs, TheDefaultProblemHasItsPinnedChecksum) {
  Checksum checksum;
  for (const TensorId id : inputs_of(Problem{})) checksum.add(draw_input(id, Problem{}, Fill{}));
  EXPECT_EQ(checksum.value(), 0x2ba3daf8cc171518u);
}

}  // namespace
}  // namespace fmha_bwd
