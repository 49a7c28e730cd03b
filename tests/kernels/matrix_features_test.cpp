// The families on matrix cores over the problem space: masks, lengths, score functions, fixed orders.
#include <gtest/gtest.h>

#include "tests/kernels/matrix_family_test.h"
#include "tests/kernels/score_problems.h"

namespace fmha_bwd {
namespace {

constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};

class MatrixFeatures : public MatrixTest {
 protected:
  void expect_right(const Problem& problem, const std::string& masks = "bottom_right,top_left:20,9") {
    expect_right_under(problem, masks_from(masks), kFill, {problem.layout});
  }

  static Problem small() { return problem_of({2, 2, 1, 70, 90, 40, 24}, DType::fp16); }
  static Problem small_groups() {
    Problem problem = small();
    make_grouped(problem, {0, 70, 5, 0, 33, 1}, {12, 90, 0, 0, 65, 3});
    return problem;
  }

  /// Two runs on one session, onto poison.
  void expect_the_same_bits_again(const Problem& problem, const MaskSpec& mask) {
    const auto session = computed(problem, mask, kFill);
    std::vector<HostTensor> first;
    for (const TensorId id : gradients_of(problem)) first.push_back(session->download(id));
    compute(*session, mask);
    for (std::size_t i = 0; i < first.size(); ++i) {
      const TensorId id = gradients_of(problem)[i];
      EXPECT_TRUE(session->download(id).bytes == first[i].bytes) << name_of(id);
    }
  }
};

TEST_P(MatrixFeatures, SeesWhatAWindowLeavesVisible) {
  expect_right(
      problem_of({1, 2, 1, 150, 150, 32, 32}, DType::fp16),
      takes_all()
          ? "top_left:0,0,top_left:63,-1,top_left:7,70,top_left:-1,3,bottom_right:64,0,xt:5,generic:100,-20"
          : "top_left:7,70");
  for (const auto& [seqlen_q, seqlen_k] : some_of<std::pair<int, int>>({{200, 40}, {40, 200}}, 1)) {
    expect_right(problem_of({1, 1, 1, seqlen_q, seqlen_k, 32, 32}, DType::bf16),
                 "top_left:10,3,bottom_right:10,3");
  }
  if (takes_all()) expect_right(problem_of({1, 1, 1, 70, 90, 256, 256}, DType::bf16), "bottom_right:20,3");
}

TEST_P(MatrixFeatures, SeesPrefixesAndDocuments) {
  expect_right(problem_of({1, 2, 1, 150, 150, 32, 32}, DType::fp16),
               takes_all() ? "prefix:1,prefix:64,prefix:100,document:64,64" : "prefix:100");
  expect_right(problem_of({1, 1, 1, 150, 150, 32, 32}, DType::fp16), "document_causal:10,1,90");
  if (takes_all()) expect_right(problem_of({1, 1, 1, 90, 140, 128, 128}, DType::bf16), "document:70,5");
}

TEST_P(MatrixFeatures, TakesSequencesOfDifferentLengths) {
  for (const Layout layout : some_of<Layout>({Layout::bhsd, Layout::bshd}, 1)) {
    Problem problem = small_groups();
    problem.layout = layout;
    expect_right(problem, "no_mask,top_left,bottom_right,document_causal:20,30");
  }
}

// The accumulator of dQ gives every sequence tiles of its own, whatever the size of a tile.
TEST_P(MatrixFeatures, GivesSequencesOfNearlyATileTheirOwnPlaces) {
  for (const std::int64_t hdim : some_of<std::int64_t>({64, 128, 256}, 1)) {
    Problem problem = problem_of({1, 2, 1, 1, 1, hdim, hdim}, DType::fp16);
    make_grouped(problem, {64, 63, 1, 31, 0, 33, 15, 16, 17}, {5, 20, 1, 33, 3, 2, 9, 16, 1});
    expect_right(problem, "no_mask");
    problem.deterministic = true;
    expect_right(problem, "no_mask");
  }
}

TEST_P(MatrixFeatures, TakesABatchOfNothing) {
  Problem problem = small();
  make_grouped(problem, {0, 0}, {0, 0});
  expect_right(problem);
  make_grouped(problem, {0, 0}, {5, 0});
  expect_right(problem);
  make_grouped(problem, {3, 0}, {0, 0});
  expect_right(problem);
  problem.deterministic = true;
  expect_right(problem);
}

TEST_P(MatrixFeatures, LeavesPaddingAlone) {
  for (const Layout layout : some_of<Layout>({Layout::bhsd, Layout::bshd}, 1)) {
    Problem problem = small();
    problem.layout = layout;
    problem.padded_q = {71};
    problem.padded_k = {128};
    expect_right(problem, "bottom_right");
    Problem groups = small_groups();
    groups.layout = layout;
    groups.padded_q = {3, 70, 64, 1, 33, 2};
    expect_right(groups, "bottom_right");
    groups.padded_k = {12, 91, 0, 5, 70, 3};
    expect_right(groups, "bottom_right");
  }
}

TEST_P(MatrixFeatures, AddsABiasAndSumsItsGradient) {
  for (const BiasShape shape :
       some_of<BiasShape>({BiasShape::full, BiasShape::shared, BiasShape::head, BiasShape::batch}, 1)) {
    Problem problem = small();
    problem.bias = shape;
    expect_right(problem);
    Problem groups = small_groups();
    groups.bias = shape;
    expect_right(groups, "bottom_right");
  }
}

TEST_P(MatrixFeatures, SlopesAwayFromTheDiagonal) {
  Problem problem = small();
  problem.alibi = true;
  expect_right(problem, takes_all() ? "no_mask,top_left,bottom_right,bottom_right:30,30" : "bottom_right");
  Problem groups = small_groups();
  groups.alibi = true;
  expect_right(groups);
}

TEST_P(MatrixFeatures, CapsItsScores) {
  for (const Problem& problem : some_of(soft_capped(small()), 1)) expect_right(problem);
}

TEST_P(MatrixFeatures, SinksTakePartInTheSum) {
  for (const Problem& problem : some_of(with_sinks(small(), small_groups()), 2)) expect_right(problem);
}

TEST_P(MatrixFeatures, DropsWhatTheReferenceDrops) {
  for (const Problem& problem : some_of(with_dropout(small(), small_groups()), 2)) expect_right(problem);
}

TEST_P(MatrixFeatures, TakesOtherScoresInEveryHeadDimension) {
  for (const std::int64_t hdim : some_of<std::int64_t>({128, 256, 192}, 1)) {
    Problem problem = problem_of({1, 2, 1, 40, 70, hdim, hdim}, DType::bf16);
    problem.softcap = 5.0F;
    problem.dropout = {0.25F, 5, 6};
    expect_right(problem, "bottom_right");
  }
}

TEST_P(MatrixFeatures, TakesEverythingTogether) {
  for (const DType dtype : kTypes) {
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
      expect_right(problem, takes_all() ? "no_mask,bottom_right:40,5,prefix:10" : "bottom_right:40,5");
    }
  }
}

TEST_P(MatrixFeatures, SumsDqInAFixedOrderWhereAskedTo) {
  for (const std::int64_t hdim : some_of<std::int64_t>({40, 128, 200}, 1)) {
    Problem problem = problem_of({1, 2, 1, 70, 270, hdim, 24}, DType::fp16);
    problem.deterministic = true;
    expect_right(problem);
  }
}

TEST_P(MatrixFeatures, RepeatsAllBitsWhereAskedTo) {
  Problem problem = problem_of({2, 2, 1, 70, 270, 64, 64}, DType::fp16);
  problem.deterministic = true;
  expect_the_same_bits_again(problem, kBottomRight);
  problem.bias = BiasShape::shared;
  problem.sink = true;
  expect_the_same_bits_again(problem, kBottomRight);
}

// 256 sequences have two slices each: of the tiles of keys, of 128, 64 or 32, one block has the even and one
// the odd. Two of the sequences have any.
TEST_P(MatrixFeatures, SumsManyTilesOfKeysInOneSlice) {
  if (!takes_all()) GTEST_SKIP() << "its kernel is another architecture's";
  for (const std::int64_t hdim : {64, 256}) {
    Problem problem = problem_of({1, 1, 1, 1, 1, hdim, hdim}, DType::fp16);
    std::vector<std::int64_t> seqlens_q(256, 0);
    std::vector<std::int64_t> seqlens_k(256, 0);
    seqlens_q[3] = 64;
    seqlens_k[3] = 321;
    seqlens_q[200] = 5;
    seqlens_k[200] = 450;
    make_grouped(problem, seqlens_q, seqlens_k);
    problem.deterministic = true;
    expect_right(problem, "bottom_right:250,20");
    if (hdim == 64) expect_the_same_bits_again(problem, kBottomRight);
  }
}

INSTANTIATE_TEST_SUITE_P(Device, MatrixFeatures, testing::ValuesIn(matrix_devices()), test_name);

}  // namespace
}  // namespace fmha_bwd
