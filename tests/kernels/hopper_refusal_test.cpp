// Which problems and architectures the hopper family takes, and what it says of the others. None of this asks
// for a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mask_spec.h"
#include "kernels/hopper/hopper.h"

namespace fmha_bwd::nvidia {
namespace {

using testing::HasSubstr;
using testing::Optional;

std::optional<std::string> refusal(const Problem& problem, std::string_view arch = "sm_90") {
  return hopper::family().refusal(problem, kNoMask.rule(), arch);
}

Problem problem_of(DType dtype, std::int64_t hdim_q, std::int64_t hdim_v) {
  Problem problem;
  problem.dtype = dtype;
  problem.hdim_q = hdim_q;
  problem.hdim_v = hdim_v;
  return problem;
}

TEST(HopperRefusal, IsNoneForTheTypesAndHeadDimensionsThatItHasKernelsFor) {
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    for (const std::int64_t hdim : {8, 64, 72, 128, 136, 256}) {
      for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
        Problem problem = problem_of(dtype, hdim, hdim);
        problem.layout = layout;
        EXPECT_EQ(refusal(problem), std::nullopt) << name_of(dtype) << " " << hdim;
        problem.sink = true;
        problem.padded_q = problem.padded_k = {100};
        EXPECT_EQ(refusal(problem), std::nullopt) << name_of(dtype) << " " << hdim;
      }
    }
  }
}

TEST(HopperRefusal, NamesTheArchitecture) {
  for (const std::string arch : {"sm_80", "sm_89", "sm_100", "sm_120", "gfx942"}) {
    EXPECT_THAT(refusal(problem_of(DType::fp16, 128, 128), arch), Optional(HasSubstr(arch)));
  }
}

TEST(HopperRefusal, NamesTheTypeThatTensorCoresDoNotMultiply) {
  EXPECT_THAT(refusal(problem_of(DType::fp32, 64, 64)), Optional(HasSubstr("fp32")));
}

TEST(HopperRefusal, NamesTheHeadDimensionsThatThereAre) {
  for (const std::int64_t hdim : {1, 63, 65, 100, 132, 264, 512}) {
    for (const auto& [hdim_q, hdim_v] :
         {std::pair{hdim, hdim}, {hdim, std::int64_t{64}}, {std::int64_t{192}, hdim}}) {
      EXPECT_THAT(refusal(problem_of(DType::bf16, hdim_q, hdim_v)), Optional(HasSubstr("multiples of 8")))
          << hdim_q << " " << hdim_v;
    }
  }
}

TEST(HopperRefusal, IsNoneWhereKeysAndValuesDifferInTheirHeadDimension) {
  for (const auto& [hdim_q, hdim_v] :
       {std::pair{64, 128}, {128, 64}, {8, 24}, {96, 40}, {192, 128}, {8, 200}}) {
    EXPECT_EQ(refusal(problem_of(DType::fp16, hdim_q, hdim_v)), std::nullopt);
  }
}

TEST(HopperRefusal, SaysThatAProblemHasTooManyTilesForALaunch) {
  Problem problem = problem_of(DType::fp16, 64, 64);
  problem.seqlen_q = problem.seqlen_k = 1;
  problem.batch = std::int64_t{1} << 20;
  problem.nhead_q = problem.nhead_k = std::int64_t{1} << 12;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("tiles")));
}

TEST(HopperRefusal, SaysThatASequenceIsTooLargeForTheCopyEngine) {
  Problem problem = problem_of(DType::fp16, 128, 128);
  problem.nhead_q = problem.nhead_k = 16;
  problem.seqlen_q = problem.seqlen_k = std::int64_t{1} << 28;
  problem.batch = 1;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("copy engine")));
}

TEST(HopperRefusal, SaysThatTheScaleIsTooLarge) {
  Problem problem = problem_of(DType::fp16, 128, 128);
  problem.scale = 3e38F;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("scale")));
  problem.scale = 2e38F;
  EXPECT_EQ(refusal(problem), std::nullopt);
}

TEST(HopperRefusal, IsNoneForASoftCapAlibiAndDropout) {
  Problem problem = problem_of(DType::bf16, 128, 128);
  problem.softcap = 30.0F;
  EXPECT_EQ(refusal(problem), std::nullopt);
  problem.alibi = true;
  EXPECT_EQ(refusal(problem), std::nullopt);
  problem.dropout.probability = 0.1F;
  EXPECT_EQ(refusal(problem), std::nullopt);
}

TEST(HopperRefusal, NamesTheSoftCapsThatItComputesToFullPrecision) {
  Problem problem = problem_of(DType::fp16, 64, 64);
  for (const float softcap : {257.0F, 1e-7F}) {
    problem.softcap = softcap;
    EXPECT_THAT(refusal(problem), Optional(HasSubstr("soft-cap"))) << softcap;
  }
  problem.softcap = 1e-5F;
  problem.scale = 1e35F;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("its soft-cap is not finite")));
}

TEST(HopperRefusal, NamesWhatItHasNoKernelsFor) {
  const Problem plain = problem_of(DType::bf16, 128, 128);
  Problem problem = plain;
  problem.bias = BiasShape::head;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("bias")));
  problem = plain;
  problem.alibi = true;
  const Problem with_alibi = problem;
  problem.sink = true;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("sinks")));
  problem = with_alibi;
  problem.deterministic = true;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("deterministic")));
  problem = with_alibi;
  problem.hdim_q = 192;
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("up to 128")));
  problem = with_alibi;
  make_grouped(problem, {3, 4}, {5, 6});
  EXPECT_THAT(refusal(problem), Optional(HasSubstr("one length")));
  EXPECT_THAT(hopper::family().refusal(with_alibi, masks_from("top_left:3,0").front().rule(), "sm_90"),
              Optional(HasSubstr("left limit")));
}

TEST(HopperRefusal, IsNoneForADeterministicProblem) {
  for (const std::int64_t hdim : {64, 128, 192, 256}) {
    Problem problem = problem_of(DType::bf16, hdim, hdim);
    problem.deterministic = true;
    EXPECT_EQ(refusal(problem), std::nullopt) << hdim;
  }
}

TEST(HopperRefusal, IsNoneForAnyMaskAndSequencesOfAnyLength) {
  Problem grouped = problem_of(DType::bf16, 128, 128);
  make_grouped(grouped, {3, 0, 4}, {5, 6, 0});
  for (const char* mask : {"no_mask", "top_left", "bottom_right", "top_left:-1,7", "top_left:3,0",
                           "bottom_right:3,-1", "prefix:3", "document:3", "document_causal:3"}) {
    const MaskSpec spec = masks_from(mask).front();
    for (const Problem& problem : {Problem{}, grouped}) {
      EXPECT_EQ(hopper::family().refusal(problem, spec.rule(), "sm_90"), std::nullopt) << mask;
    }
  }
}

}  // namespace
}  // namespace fmha_bwd::nvidia
