// The same question as mutation_test.cpp, for every feature: correct kernels pass, one fault does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "reference/verify.h"
#include "tests/reference/feature_cases.h"
#include "tests/reference/naive_attention.h"

namespace fmha_bwd {
namespace {

/// A problem, its inputs, and what its outputs are judged by.
struct Judge {
  Problem problem;
  MaskSpec mask;
  AttentionInputs inputs;
  Reference reference;

  Judge(const Problem& p, const MaskSpec& m, float standard_deviation)
      : problem(p),
        mask(m),
        inputs(draw_inputs(p, {.standard_deviation = standard_deviation})),
        reference(reference_for(problem, mask, inputs)) {}

  bool passes(TensorId id, const std::vector<float>& values) const {
    return verify(id, tensor_from(values, shape_of(id, problem), dtype_of(id, problem)), reference).passed;
  }

  /// The gradients that do not pass, of a kernel that computed `wrong`.
  template <typename Outputs>
  std::vector<TensorId> caught(const Outputs& wrong) const {
    std::vector<TensorId> ids;
    for (const TensorId id : gradients_of(problem)) {
      if (!passes(id, wrong.of(id))) ids.push_back(id);
    }
    return ids;
  }
};

class Features : public ::testing::TestWithParam<testing::FeatureCase> {};
INSTANTIATE_TEST_SUITE_P(Mutation, Features, ::testing::ValuesIn(testing::feature_cases(7)),
                         testing::test_name);

TEST_P(Features, CorrectKernelsOfEveryHabitPass) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const float standard_deviation : {0.1F, 1.0F, 3.0F}) {
      Problem problem = GetParam().problem;
      problem.dtype = dtype;
      const Judge judge(problem, GetParam().mask, standard_deviation);
      for (const testing::KernelHabits& habits :
           {testing::KernelHabits{}, testing::KernelHabits{.rounds_operands = false, .parallel_sums = 1},
            testing::KernelHabits{.base_two = false, .last_to_first = false, .parallel_sums = 64}}) {
        const auto kernel = testing::kernel_like_attention(problem, judge.mask, judge.inputs, habits);
        for (const TensorId id : outputs_of(problem)) {
          EXPECT_TRUE(judge.passes(id, kernel.of(id)))
              << name_of(id) << ' ' << name_of(dtype) << ' ' << standard_deviation;
        }
      }
    }
  }
}

struct Setting {
  DType dtype;
  float standard_deviation;
};

std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << name_of(s.dtype) << ", std " << s.standard_deviation;
}

class FeatureMutation : public ::testing::TestWithParam<Setting> {
 protected:
  Problem problem_{2, 4, 2, 70, 90, 32, 24, GetParam().dtype, default_scale(32)};

  Judge judge(const MaskSpec& mask = kNoMask) const {
    return {problem_, mask, GetParam().standard_deviation};
  }
};
INSTANTIATE_TEST_SUITE_P(Settings, FeatureMutation,
                         ::testing::Values(Setting{DType::fp16, 0.1F}, Setting{DType::fp16, 1.0F},
                                           Setting{DType::bf16, 0.1F}, Setting{DType::bf16, 1.0F},
                                           Setting{DType::fp32, 0.1F}, Setting{DType::fp32, 1.0F}));

TEST_P(FeatureMutation, ASoftCapWithoutItsDerivativeFails) {
  // As large as a score.
  problem_.softcap = GetParam().standard_deviation * GetParam().standard_deviation;
  const Judge of = judge();
  const auto wrong = testing::kernel_like_attention(problem_, of.mask, of.inputs, {.forgets_slope = true});
  EXPECT_THAT(of.caught(wrong), ::testing::ElementsAre(TensorId::dq, TensorId::dk));
}

TEST_P(FeatureMutation, AForgottenSoftCapFails) {
  problem_.softcap = GetParam().standard_deviation * GetParam().standard_deviation;
  const Judge of = judge();
  Problem without = problem_;
  without.softcap = 0.0F;
  EXPECT_THAT(of.caught(textbook_attention(without, of.mask, of.inputs)),
              ::testing::IsSupersetOf({TensorId::dq, TensorId::dk}));
}

TEST_P(FeatureMutation, DropoutThatStartsOneDrawLaterFails) {
  problem_.dropout = {.probability = 0.1F};
  const Judge of = judge();
  Problem later = problem_;
  later.dropout.offset += 1;
  EXPECT_EQ(of.caught(textbook_attention(later, of.mask, of.inputs)).size(), 3U);
  later.dropout = {};
  EXPECT_EQ(of.caught(textbook_attention(later, of.mask, of.inputs)).size(), 3U);
}

TEST_P(FeatureMutation, ADbiasOfTheFirstSequenceAloneFails) {
  problem_.bias = BiasShape::head;
  const Judge of = judge();
  AttentionInputs inputs = of.inputs;
  const auto half = static_cast<std::ptrdiff_t>(inputs.d_o.size() / 2);
  std::fill(inputs.d_o.begin() + half, inputs.d_o.end(), 0.0F);
  const TextbookAttention wrong = textbook_attention(problem_, of.mask, inputs);
  EXPECT_TRUE(of.passes(TensorId::dbias, of.reference.textbook.dbias));
  EXPECT_FALSE(of.passes(TensorId::dbias, wrong.dbias));
}

TEST_P(FeatureMutation, ABiasOfTheWrongHeadFails) {
  problem_.bias = BiasShape::head;
  const Judge of = judge();
  AttentionInputs inputs = of.inputs;
  std::rotate(inputs.bias.begin(), inputs.bias.begin() + problem_.seqlen_q * problem_.seqlen_k,
              inputs.bias.end());
  EXPECT_EQ(of.caught(textbook_attention(problem_, of.mask, inputs)).size(), 4U);
}

TEST_P(FeatureMutation, ADsinkOfTheWrongSignFails) {
  problem_.sink = true;
  const Judge of = judge(kTopLeft);
  std::vector<float> wrong = of.reference.textbook.dsink;
  EXPECT_TRUE(of.passes(TensorId::dsink, wrong));
  for (float& x : wrong) x = -x;
  EXPECT_FALSE(of.passes(TensorId::dsink, wrong));
}

TEST_P(FeatureMutation, AForgottenSinkFails) {
  problem_.sink = true;
  const Judge of = judge(kTopLeft);
  Problem without = problem_;
  without.sink = false;
  TextbookAttention wrong = textbook_attention(without, of.mask, of.inputs);
  wrong.dsink.resize(of.inputs.sink.size());
  EXPECT_EQ(of.caught(wrong).size(), 4U);
}

TEST_P(FeatureMutation, AlibiAroundTheWrongDiagonalFails) {
  problem_.alibi = true;
  const Judge of = judge();
  MaskSpec wrong;
  wrong.alignment = Alignment::top_left;
  EXPECT_EQ(of.caught(textbook_attention(problem_, wrong, of.inputs)).size(), 3U);
}

TEST_P(FeatureMutation, TheDiagonalOfTheLongestSequenceFailsInAGroup) {
  make_grouped(problem_, {40, 64, 0}, {64, 50, 7});
  const Judge of = judge(kBottomRight);
  EXPECT_EQ(of.caught(textbook_attention(problem_, kTopLeft, of.inputs)).size(), 3U);
}

TEST_P(FeatureMutation, AFewPercentMoreFailWithEverything) {
  problem_.dropout = {.probability = 0.2F};
  problem_.softcap = 30.0F;
  problem_.bias = BiasShape::batch;
  problem_.alibi = problem_.sink = true;
  const Judge of = judge(kBottomRight);
  for (const TensorId id : gradients_of(problem_)) {
    std::vector<float> wrong = of.reference.textbook.of(id);
    // dSink is a sum of rows' D, which nearly cancel.
    for (float& x : wrong) x *= id == TensorId::dsink ? 1.1F : 1.01F;
    EXPECT_FALSE(of.passes(id, wrong)) << name_of(id);
  }
}

TEST_P(FeatureMutation, ZerosFailUnderASaturatedSoftCap) {
  problem_.softcap = 30.0F;
  problem_.scale = 200.0F / (GetParam().standard_deviation * GetParam().standard_deviation);
  const Judge of = judge();
  for (const TensorId id : gradients_of(problem_)) {
    EXPECT_FALSE(of.passes(id, std::vector<float>(of.reference.textbook.of(id).size()))) << name_of(id);
  }
}

}  // namespace
}  // namespace fmha_bwd
