// The hopper family against the fp64 reference, on every device that has it.
#include <gtest/gtest.h>

#include "tests/kernels/family_test.h"

namespace fmha_bwd {
namespace {

constexpr std::array kTypes = {DType::fp16, DType::bf16};
constexpr std::array<std::int64_t, 2> kHeadDims = {64, 128};

class Hopper : public FamilyTest {
 protected:
  Hopper() : FamilyTest("hopper") {}

  void SetUp() override {
    if (const auto reason = refusal(Problem{})) GTEST_SKIP() << *reason;
  }

  /// In both types, for both head dimensions, in both layouts, under every mask.
  void expect_right_in_every_form(Extents shape, float standard_deviation) {
    for (const DType dtype : kTypes) {
      for (const std::int64_t hdim : kHeadDims) {
        shape.hdim_q = shape.hdim_v = hdim;
        expect_right(problem_of(shape, dtype), standard_deviation, {Layout::bhsd, Layout::bshd});
      }
    }
  }
};

/// The family chooses its head dimension.
Extents extents(std::int64_t batch, std::int64_t nhead_q, std::int64_t nhead_k, std::int64_t seqlen_q,
                std::int64_t seqlen_k) {
  return {batch, nhead_q, nhead_k, seqlen_q, seqlen_k, 0, 0};
}

TEST_P(Hopper, IsRightAtTheTailsOfItsTiles) {
  for (const std::int64_t seqlen : {1, 63, 65, 127, 129, 1000}) {
    expect_right_in_every_form(extents(1, 2, 2, seqlen, seqlen), 1.0F);
  }
}

TEST_P(Hopper, IsRightWhereQueriesAndKeysDifferInNumber) {
  for (const auto& [seqlen_q, seqlen_k] :
       {std::pair{1023, 1025}, {300, 700}, {700, 300}, {1, 300}, {300, 1}}) {
    expect_right_in_every_form(extents(1, 2, 2, seqlen_q, seqlen_k), 1.0F);
  }
}

TEST_P(Hopper, SumsKeyAndValueGradientsOverTheGroup) {
  expect_right_in_every_form(extents(1, 8, 1, 200, 330), 1.0F);
  expect_right_in_every_form(extents(2, 8, 2, 330, 200), 1.0F);
}

TEST_P(Hopper, KeepsTheHeadsAndTheSequencesOfABatchApart) {
  expect_right_in_every_form(extents(3, 4, 2, 190, 260), 1.0F);
}

TEST_P(Hopper, IsRightWherePIsNearlyUniform) { expect_right_in_every_form(extents(1, 2, 2, 500, 500), 0.1F); }

TEST_P(Hopper, IsRightWherePIsNearlyOneHot) { expect_right_in_every_form(extents(1, 2, 2, 500, 500), 3.0F); }

TEST_P(Hopper, TakesANegativeAndAZeroScale) {
  for (const std::int64_t hdim : kHeadDims) {
    for (const DType dtype : kTypes) {
      for (const float scale : {-0.3F, 0.0F}) {
        Problem problem = problem_of({1, 2, 1, 200, 330, hdim, hdim}, dtype);
        problem.scale = scale;
        expect_right(problem, 1.0F);
      }
    }
  }
}

TEST_P(Hopper, IsRightWithMoreTilesThanRunAtATime) {
  expect_right(problem_of({2, 8, 8, 2048, 2048, 64, 64}, DType::fp16), 1.0F);
}

TEST_P(Hopper, IsRightWithFewerTilesThanMultiprocessors) {
  expect_right(problem_of({1, 1, 1, 4096, 4096, 128, 128}, DType::bf16), 1.0F);
}

TEST_P(Hopper, GivesARowThatSeesNoKeyZerosAndMinusInfinity) {
  for (const std::int64_t hdim : kHeadDims) {
    expect_zeros_in_rows_that_see_no_key(problem_of({1, 1, 1, 700, 300, hdim, hdim}, DType::fp16));
  }
}

TEST_P(Hopper, GivesAKeyThatNoQuerySeesZeroGradients) {
  for (const std::int64_t hdim : kHeadDims) {
    expect_zeros_in_keys_that_no_query_sees(problem_of({1, 1, 1, 300, 700, hdim, hdim}, DType::fp16));
  }
}

// 132 tiles of 128 keys, a whole wave on 132 multiprocessors: each is one block's, which sums in one order,
// so that dK and dV that move are a race.
constexpr Extents kWholeWave = {3, 4, 4, 1300, 1300, 0, 0};

TEST_P(Hopper, GivesTheSameBitsInEitherLayout) {
  Extents shape = kWholeWave;
  for (const std::int64_t hdim : kHeadDims) {
    shape.hdim_q = shape.hdim_v = hdim;
    expect_same_bits_in_either_layout(problem_of(shape, DType::fp16));
  }
}

TEST_P(Hopper, RepeatsTheBitsOfKeyAndValueGradients) {
  constexpr int kRuns = 20;
  const Fill fill = {.seed = 7, .standard_deviation = 1.0F};
  Extents shape = kWholeWave;
  for (const std::int64_t hdim : kHeadDims) {
    shape.hdim_q = shape.hdim_v = hdim;
    const Problem problem = problem_of(shape, DType::bf16);
    const AttentionInputs inputs = draw_inputs(problem, fill);
    for (const MaskKind kind : {MaskKind::no_mask, MaskKind::top_left}) {
      const Mask mask(kind, problem.seqlen_q, problem.seqlen_k);
      const Reference reference = reference_for(problem, mask, inputs);
      const auto session = computed(problem, mask, fill);
      const std::vector<std::byte> dk = session->download(TensorId::dk).bytes;
      const std::vector<std::byte> dv = session->download(TensorId::dv).bytes;
      for (int run = 0; run < kRuns; ++run) {
        const std::string where = "in run " + std::to_string(run) + ", " + description_of(problem, kind);
        compute(*session, mask);
        // Not EXPECT_EQ, which would print millions of bytes.
        EXPECT_TRUE(session->download(TensorId::dk).bytes == dk) << "dK moves " << where;
        EXPECT_TRUE(session->download(TensorId::dv).bytes == dv) << "dV moves " << where;
        expect_in_budget(*session, TensorId::dq, reference, where);
      }
      for (const TensorId id : kOutputs) {
        expect_in_budget(*session, id, reference, description_of(problem, kind));
      }
      EXPECT_TRUE(session->damaged_guards().empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Hopper, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
