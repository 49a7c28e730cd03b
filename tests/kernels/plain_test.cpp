// The plain family against hand-computed numbers and the fp64 reference, on every device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/dropout.h"
#include "tests/kernels/family_test.h"
#include "tests/kernels/score_problems.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;
using testing::Optional;

constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};

class Plain : public FamilyTest {
 protected:
  Plain() : FamilyTest("plain") {}

  void expect_right(const Problem& problem, const std::string& masks = "no_mask,bottom_right,top_left:20,9",
                    const Fill& fill = kFill) {
    expect_right_under(problem, masks_from(masks), fill, {problem.layout});
  }

  static Problem of(const Extents& shape) { return problem_of(shape, DType::fp32); }
  static Problem small() { return of({2, 4, 2, 70, 90, 40, 24}); }
  static Problem small_groups() {
    Problem problem = small();
    make_grouped(problem, {0, 70, 5, 0, 33, 1}, {12, 90, 0, 0, 65, 3});
    return problem;
  }
};

// S = (0, log 3), P = (1/4, 3/4), D = 8, dP = (2, 10), dS = (-3/2, 3/2).
TEST_P(Plain, GivesTheNumbersOfOneQueryAndTwoKeys) {
  Problem problem = of({1, 1, 1, 1, 2, 1, 1});
  problem.scale = 0.5F;
  const auto session = opened(problem);
  const auto set = [&](TensorId id, const std::vector<float>& values) {
    session->upload(id, tensor_from(values, shape_of(id, problem), DType::fp32));
  };
  set(TensorId::q, {2.0F});
  set(TensorId::k, {0.0F, std::log(3.0F)});
  set(TensorId::v, {1.0F, 5.0F});
  set(TensorId::d_o, {2.0F});
  compute(*session, kNoMask);
  const auto expect = [&](TensorId id, const std::vector<float>& values) {
    EXPECT_THAT(values_of(session->download(id)), testing::Pointwise(testing::FloatNear(1e-6F), values))
        << name_of(id);
  };
  expect(TensorId::o, {4.0F});
  expect(TensorId::lse, {std::log(4.0F)});
  expect(TensorId::d, {8.0F});
  expect(TensorId::dq, {0.75F * std::log(3.0F)});
  expect(TensorId::dk, {-1.5F, 1.5F});
  expect(TensorId::dv, {0.5F, 1.5F});
}

TEST_P(Plain, IsRightAtTheTailsOfItsTiles) {
  for (const auto& [seqlen_q, seqlen_k] :
       {std::pair{1, 1}, {1, 33}, {33, 1}, {31, 32}, {16, 17}, {65, 63}, {130, 33}}) {
    expect_right(of({1, 1, 1, seqlen_q, seqlen_k, 32, 32}), "no_mask,top_left,bottom_right");
  }
}

TEST_P(Plain, IsRightForEveryHeadDimension) {
  for (const std::int64_t hdim : {1, 7, 31, 64, 65, 96, 128, 129, 200, 256, 257, 512}) {
    expect_right(of({1, 1, 1, 40, 50, hdim, hdim}), "bottom_right");
  }
}

TEST_P(Plain, IsRightWhereKeysAndValuesHaveDifferentDimensions) {
  for (const auto& [hdim_q, hdim_v] : {std::pair{192, 128}, {24, 100}, {13, 256}, {500, 300}, {1, 512}}) {
    expect_right(of({1, 2, 1, 33, 50, hdim_q, hdim_v}), "top_left");
  }
}

TEST_P(Plain, SumsKeyAndValueGradientsOverTheGroup) {
  expect_right(of({2, 4, 2, 66, 80, 80, 80}));
  expect_right(of({1, 6, 1, 33, 70, 16, 16}));
}

TEST_P(Plain, SeesWhatAMaskLeavesVisible) {
  expect_right(
      of({1, 2, 1, 150, 150, 32, 32}),
      "top_left:0,0,top_left:63,-1,top_left:7,70,top_left:-1,3,bottom_right:64,0,xt:5,generic:100,-20");
  expect_right(of({1, 1, 1, 200, 40, 32, 32}), "top_left:10,3,bottom_right:10,3");
  expect_right(of({1, 1, 1, 40, 200, 32, 32}), "top_left:10,3,bottom_right:10,3");
  expect_right(of({1, 2, 1, 150, 150, 32, 32}), "prefix:1,prefix:64,prefix:100,document:64,64");
  expect_right(of({1, 1, 1, 90, 140, 32, 32}), "document:70,5,document_causal:10,1,90");
}

TEST_P(Plain, TakesSequencesOfDifferentLengths) {
  expect_right(small_groups(), "no_mask,top_left,bottom_right,document_causal:20,30");
}

TEST_P(Plain, TakesABatchOfNothing) {
  Problem problem = small();
  for (const auto& [seqlens_q, seqlens_k] :
       std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>{
           {{0, 0}, {0, 0}}, {{0, 0}, {5, 0}}, {{3, 0}, {0, 0}}}) {
    make_grouped(problem, seqlens_q, seqlens_k);
    expect_right(problem);
  }
}

TEST_P(Plain, AddsABiasAndSumsItsGradient) {
  for (const BiasShape shape : {BiasShape::shared, BiasShape::head, BiasShape::batch, BiasShape::full}) {
    Problem problem = small();
    problem.bias = shape;
    expect_right(problem);
    Problem groups = small_groups();
    groups.bias = shape;
    expect_right(groups, "bottom_right");
  }
}

TEST_P(Plain, SlopesAwayFromTheDiagonal) {
  for (Problem problem : {small(), small_groups()}) {
    problem.alibi = true;
    expect_right(problem, "no_mask,top_left,bottom_right:30,30");
  }
}

TEST_P(Plain, CapsItsScores) {
  for (const Problem& problem : soft_capped(small())) expect_right(problem);
}

TEST_P(Plain, SinksTakePartInTheSum) {
  for (const Problem& problem : with_sinks(small(), small_groups())) expect_right(problem);
}

TEST_P(Plain, DropsWhatTheReferenceDrops) {
  for (const Problem& problem : with_dropout(small(), small_groups())) expect_right(problem);
}

TEST_P(Plain, TakesEverythingTogether) {
  Problem problem = small_groups();
  problem.bias = BiasShape::full;
  problem.alibi = problem.sink = true;
  problem.softcap = 5.0F;
  problem.dropout = {0.25F, 5, 6};
  problem.scale = -0.2F;
  expect_right(problem, "no_mask,bottom_right:40,5,prefix:10");
}

TEST_P(Plain, IsRightWhereScoresAreLarge) {
  Problem problem = of({1, 2, 2, 80, 96, 64, 64});
  const Fill extreme = {.seed = 7, .kind = FillKind::extreme};
  expect_right(problem, "no_mask,bottom_right", extreme);
  problem.sink = true;
  expect_right(problem, "no_mask,bottom_right", extreme);
}

TEST_P(Plain, TakesANegativeAndAZeroScale) {
  for (const float scale : {-0.3F, 0.0F}) {
    Problem problem = of({1, 1, 1, 40, 72, 32, 32});
    problem.scale = scale;
    expect_right(problem);
  }
}

TEST_P(Plain, GivesARowThatSeesNoKeyZerosAndMinusInfinity) {
  expect_zeros_in_rows_that_see_no_key(of({1, 1, 1, 100, 40, 32, 32}));
}

TEST_P(Plain, GivesAKeyThatNoQuerySeesZeroGradients) {
  expect_zeros_in_keys_that_no_query_sees(of({1, 1, 1, 40, 100, 32, 32}));
}

TEST_P(Plain, GivesTheSameBitsInEveryRunWhetherAskedToOrNot) {
  for (const bool deterministic : {false, true}) {
    Problem problem = of({2, 2, 1, 70, 100, 40, 40});
    problem.bias = BiasShape::shared;
    problem.sink = true;
    problem.deterministic = deterministic;
    ASSERT_EQ(refusal(problem), std::nullopt);
    const auto first = computed(problem, kBottomRight, kFill);
    const auto second = computed(problem, kBottomRight, kFill);
    for (const TensorId id : outputs_of(problem)) {
      EXPECT_TRUE(first->download(id).bytes == second->download(id).bytes) << name_of(id);
    }
  }
}

TEST_P(Plain, ComputesFromInputsThatWereUploaded) {
  const Problem problem = of({2, 2, 1, 20, 30, 24, 12});
  const auto session = opened(problem);
  for (const TensorId id : inputs_of(problem)) session->upload(id, draw_input(id, problem, kFill));
  compute(*session, kTopLeft);
  const Reference reference = reference_for(problem, kTopLeft, draw_inputs(problem, kFill));
  for (const TensorId id : outputs_of(problem)) {
    expect_in_budget(*session, id, reference, description_of(problem, kTopLeft));
  }
}

TEST_P(Plain, RefusesWhatIsNotFp32InBhsdWithoutPadding) {
  EXPECT_EQ(refusal(small()), std::nullopt);
  EXPECT_EQ(refusal(small_groups()), std::nullopt);
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    Problem problem = small();
    problem.dtype = dtype;
    EXPECT_THAT(refusal(problem), Optional(HasSubstr(std::string(name_of(dtype)))));
  }
  for (const Layout layout : {Layout::bshd, Layout::qkv}) {
    Problem problem = of({2, 2, 2, 30, 30, 16, 16});
    problem.layout = layout;
    EXPECT_THAT(refusal(problem), Optional(HasSubstr(std::string(name_of(layout)))));
  }
  Problem padded = small();
  padded.padded_k = {padded.seqlen_k + 1};
  EXPECT_THAT(refusal(padded), Optional(HasSubstr("padding")));
  padded.padded_k = {padded.seqlen_k};
  EXPECT_EQ(refusal(padded), std::nullopt);
}

// A launch has fewer than 2^24 workgroups: stage 1's have 16 rows, dBias's 32 x 32 elements.
TEST_P(Plain, RefusesMoreTilesThanALaunchCanCover) {
  Problem rows = of({1, 1, 1, 1, 1, 1, 1});
  rows.nhead_q = rows.nhead_k = (1 << 24) - 1;
  EXPECT_EQ(refusal(rows), std::nullopt);
  rows.nhead_q = rows.nhead_k = 1 << 24;
  EXPECT_THAT(refusal(rows), Optional(HasSubstr("tiles")));

  Problem bias = of({1, 1, 1, 32 * 4096, 32 * 4095, 1, 1});
  bias.bias = BiasShape::shared;
  EXPECT_EQ(refusal(bias), std::nullopt);
  bias.seqlen_k += 1;
  EXPECT_THAT(refusal(bias), Optional(HasSubstr("tiles")));
}

TEST_P(Plain, IsTheLastChoiceAfterOneThatTakesAllThatItTakes) {
  const std::vector<KernelSupport> kernels = backend_->kernels(small(), kNoMask);
  ASSERT_GE(kernels.size(), 2u);
  EXPECT_EQ(kernels.back().kernel, "plain");
  EXPECT_EQ(kernels[kernels.size() - 2].kernel, "simt");
  EXPECT_EQ(kernels[kernels.size() - 2].refusal, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Device, Plain, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
