// The simt family over the problem space: masks, lengths, layouts and score functions, on every device.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/dropout.h"
#include "tests/kernels/family_test.h"
#include "tests/kernels/score_problems.h"

namespace fmha_bwd {
namespace {

constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};

class SimtFeatures : public FamilyTest {
 protected:
  SimtFeatures() : FamilyTest("simt") {}

  void expect_right(const Problem& problem, const std::string& masks = "no_mask,bottom_right,top_left:20,9") {
    expect_right_under(problem, masks_from(masks), kFill, {problem.layout});
  }

  static Problem small() { return problem_of({2, 4, 2, 70, 90, 40, 24}, DType::fp16); }
  static Problem small_groups() {
    Problem problem = small();
    make_grouped(problem, {0, 70, 5, 0, 33, 1}, {12, 90, 0, 0, 65, 3});
    return problem;
  }
};

TEST_P(SimtFeatures, SeesWhatAWindowLeavesVisible) {
  expect_right(
      problem_of({1, 2, 1, 150, 150, 32, 32}, DType::fp16),
      "top_left:0,0,top_left:63,-1,top_left:7,70,top_left:-1,3,bottom_right:64,0,xt:5,generic:100,-20");
  expect_right(problem_of({1, 1, 1, 200, 40, 32, 32}, DType::bf16), "top_left:10,3,bottom_right:10,3");
  expect_right(problem_of({1, 1, 1, 40, 200, 32, 32}, DType::fp32), "top_left:10,3,bottom_right:10,3");
}

TEST_P(SimtFeatures, SeesPrefixesAndDocuments) {
  const std::string masks = "prefix:1,prefix:64,prefix:100,document:64,64,no_mask";
  expect_right(problem_of({1, 2, 1, 150, 150, 32, 32}, DType::fp16), masks);
  expect_right(problem_of({1, 2, 1, 150, 150, 32, 32}, DType::fp16), "document_causal:10,1,90");
  expect_right(problem_of({1, 1, 1, 90, 140, 32, 32}, DType::bf16), "document:70,5");
}

TEST_P(SimtFeatures, TakesSequencesOfDifferentLengths) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
      Problem problem = small_groups();
      problem.dtype = dtype;
      problem.layout = layout;
      expect_right(problem, "no_mask,top_left,bottom_right,document_causal:20,30");
    }
  }
}

TEST_P(SimtFeatures, TakesABatchOfNothing) {
  Problem problem = small();
  make_grouped(problem, {0, 0}, {0, 0});
  expect_right(problem);
  make_grouped(problem, {0, 0}, {5, 0});
  expect_right(problem);
  make_grouped(problem, {3, 0}, {0, 0});
  expect_right(problem);
}

TEST_P(SimtFeatures, LeavesPaddingAlone) {
  for (const DType dtype : {DType::fp16, DType::fp32}) {
    for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
      Problem problem = small();
      problem.dtype = dtype;
      problem.layout = layout;
      problem.padded_q = {71};
      problem.padded_k = {128};
      expect_right(problem, "bottom_right");
      Problem groups = small_groups();
      groups.dtype = dtype;
      groups.layout = layout;
      groups.padded_q = {3, 70, 64, 1, 33, 2};
      expect_right(groups, "bottom_right");
      groups.padded_k = {12, 91, 0, 5, 70, 3};
      expect_right(groups, "bottom_right");
    }
  }
}

TEST_P(SimtFeatures, TakesQKVInOneTensor) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const std::int64_t hdim : {40, 13}) {
      Problem problem = problem_of({2, 4, 2, 70, 70, hdim, hdim}, dtype);
      problem.layout = Layout::qkv;
      expect_right(problem, "no_mask,top_left");
      make_grouped(problem, {3, 0, 70}, {3, 0, 70});
      expect_right(problem, "top_left");
      problem.padded_q = problem.padded_k = {5, 2, 70};
      expect_right(problem, "top_left");
    }
  }
}

TEST_P(SimtFeatures, AddsABiasAndSumsItsGradient) {
  for (const BiasShape shape : {BiasShape::shared, BiasShape::head, BiasShape::batch, BiasShape::full}) {
    Problem problem = small();
    problem.bias = shape;
    expect_right(problem);
    Problem groups = small_groups();
    groups.bias = shape;
    groups.dtype = DType::fp32;
    expect_right(groups, "bottom_right");
  }
}

TEST_P(SimtFeatures, SlopesAwayFromTheDiagonal) {
  Problem problem = small();
  problem.alibi = true;
  expect_right(problem, "no_mask,top_left,bottom_right,bottom_right:30,30");
  Problem groups = small_groups();
  groups.alibi = true;
  expect_right(groups);
}

TEST_P(SimtFeatures, CapsItsScores) {
  for (const Problem& problem : soft_capped(small())) expect_right(problem);
}

TEST_P(SimtFeatures, SinksTakePartInTheSum) {
  for (const Problem& problem : with_sinks(small(), small_groups())) expect_right(problem);
}

TEST_P(SimtFeatures, DropsWhatTheReferenceDrops) {
  for (const Problem& problem : with_dropout(small(), small_groups())) expect_right(problem);
}

TEST_P(SimtFeatures, SumsDqInAFixedOrderWhereAskedTo) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const std::int64_t hdim : {40, 128, 200, 300}) {
      Problem problem = problem_of({1, 2, 1, 70, 130, hdim, 24}, dtype);
      problem.deterministic = true;
      expect_right(problem);
    }
  }
}

TEST_P(SimtFeatures, RepeatsAllBitsWhereAskedTo) {
  Problem problem = problem_of({2, 2, 1, 130, 200, 64, 64}, DType::fp32);
  problem.deterministic = true;
  problem.bias = BiasShape::shared;
  problem.sink = true;
  const auto session = computed(problem, kBottomRight, kFill);
  std::vector<HostTensor> first;
  for (const TensorId id : gradients_of(problem)) first.push_back(session->download(id));
  for (int run = 0; run < 3; ++run) {
    session->poison_outputs();
    session->forward(kBottomRight);
    session->backward(kBottomRight);
    for (std::size_t i = 0; i < first.size(); ++i) {
      const TensorId id = gradients_of(problem)[i];
      EXPECT_TRUE(session->download(id).bytes == first[i].bytes) << name_of(id) << " in run " << run;
    }
  }
}

TEST_P(SimtFeatures, TakesEverythingTogether) {
  for (const DType dtype : {DType::fp16, DType::fp32}) {
    for (const bool deterministic : {false, true}) {
      Problem problem = small_groups();
      problem.dtype = dtype;
      problem.layout = Layout::bshd;
      problem.padded_q = {3, 70, 64, 1, 33, 2};
      problem.bias = BiasShape::full;
      problem.alibi = problem.sink = true;
      problem.softcap = 5.0F;
      problem.dropout = {0.25F, 5, 6};
      problem.deterministic = deterministic;
      problem.scale = -0.2F;
      expect_right(problem, "no_mask,bottom_right:40,5,prefix:10");
    }
  }
}

TEST_P(SimtFeatures, ComputesFromInputsThatWereUploaded) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
    Problem problem = problem_of({2, 2, 1, 20, 20, 24, 24}, DType::bf16);
    problem.layout = layout;
    const auto session = opened(problem);
    session->fill_inputs(Fill{});
    for (const TensorId id : inputs_of(problem)) session->upload(id, draw_input(id, problem, kFill));
    for (const TensorId id : inputs_of(problem)) {
      EXPECT_TRUE(session->download(id).bytes == draw_input(id, problem, kFill).bytes) << name_of(id);
    }
    compute(*session, kTopLeft);
    const Reference reference = reference_for(problem, kTopLeft, draw_inputs(problem, kFill));
    for (const TensorId id : outputs_of(problem)) {
      expect_in_budget(*session, id, reference, description_of(problem, kTopLeft));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Device, SimtFeatures, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
