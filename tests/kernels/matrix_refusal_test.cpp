// Which problems and architectures the families on matrix cores take, and what they say of the others. None
// of this asks for a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/mask_spec.h"
#include "kernels/cdna/cdna.h"
#include "kernels/mma/mma.h"
#include "kernels/rdna/rdna.h"

namespace fmha_bwd::emulator {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

/// A family and an architecture that it takes.
struct Case {
  const Family& family;
  const char* arch;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {cdna::family(), "gfx90a"},  {cdna::family(), "gfx942"},  {cdna::family(), "gfx950"},
      {rdna::family(), "gfx1100"}, {rdna::family(), "gfx1201"}, {mma::family(), "sm_80"},
      {mma::family(), "sm_90"},    {mma::family(), "sm_90a"},   {mma::family(), "sm_100"}};
  return kCases;
}

std::optional<std::string> refusal(const Case& of, const Problem& problem) {
  return of.family.refusal(problem, kNoMask.rule(), of.arch);
}

Problem problem_of(DType dtype, std::int64_t hdim_q, std::int64_t hdim_v) {
  Problem problem;
  problem.dtype = dtype;
  problem.hdim_q = hdim_q;
  problem.hdim_v = hdim_v;
  return problem;
}

TEST(MatrixRefusal, IsNoneForMultiplesOfEightUpTo256) {
  for (const Case& of : cases()) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const auto& [hdim_q, hdim_v] : {std::pair{8, 8}, {64, 64}, {72, 256}, {192, 128}, {256, 256}}) {
        EXPECT_EQ(refusal(of, problem_of(dtype, hdim_q, hdim_v)), std::nullopt) << of.arch << " " << hdim_q;
      }
    }
  }
}

TEST(MatrixRefusal, IsNoneForLayoutsScoresMasksAndFixedOrders) {
  for (const Case& of : cases()) {
    Problem problem = problem_of(DType::bf16, 64, 64);
    problem.bias = BiasShape::full;
    problem.alibi = problem.sink = problem.deterministic = true;
    problem.softcap = 3.0F;
    problem.dropout.probability = 0.5F;
    for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
      problem.layout = layout;
      EXPECT_EQ(refusal(of, problem), std::nullopt) << of.arch << " " << name_of(layout);
    }
    for (const MaskSpec& mask : masks_from("top_left:3,4,prefix:5,document:6")) {
      EXPECT_EQ(of.family.refusal(problem, mask.rule(), of.arch), std::nullopt)
          << of.arch << " " << name_of(mask);
    }
  }
}

TEST(MatrixRefusal, NamesTheArchitectureAndThoseThatItNeeds) {
  const auto refusal_on = [](const Family& family, const char* arch) {
    return family.refusal(problem_of(DType::bf16, 64, 64), kNoMask.rule(), arch);
  };
  for (const char* arch : {"gfx908", "gfx90c", "gfx940", "gfx1100", "gfx94", "sm_80"}) {
    EXPECT_THAT(refusal_on(cdna::family(), arch), Optional(AllOf(HasSubstr(arch), HasSubstr("gfx942"))));
  }
  for (const char* arch : {"gfx1030", "gfx942", "gfx11", "gfx110000", "sm_80"}) {
    EXPECT_THAT(refusal_on(rdna::family(), arch), Optional(AllOf(HasSubstr(arch), HasSubstr("gfx11xx"))));
  }
  for (const char* arch : {"sm_75", "sm_9", "sm_", "gfx942", ""}) {
    EXPECT_THAT(refusal_on(mma::family(), arch), Optional(AllOf(HasSubstr(arch), HasSubstr("sm_80"))));
  }
}

TEST(MatrixRefusal, NamesTheTypeThatMatrixCoresDoNotMultiply) {
  for (const Case& of : cases()) {
    EXPECT_THAT(refusal(of, problem_of(DType::fp32, 64, 64)), Optional(HasSubstr("fp32"))) << of.arch;
  }
}

TEST(MatrixRefusal, NamesTheHeadDimensionsThatThereAre) {
  for (const Case& of : cases()) {
    for (const auto& [hdim_q, hdim_v] :
         {std::pair{20, 20}, {264, 64}, {64, 264}, {64, 4}, {7, 64}, {512, 512}}) {
      EXPECT_THAT(refusal(of, problem_of(DType::fp16, hdim_q, hdim_v)),
                  Optional(HasSubstr("multiples of 8 up to 256")))
          << of.arch << " " << hdim_q << "/" << hdim_v;
    }
  }
}

// The largest float is 3.40e38; divided by log2 e it is 2.36e38.
TEST(MatrixRefusal, SaysThatTheScaleIsNotFiniteInBaseTwo) {
  for (const Case& of : cases()) {
    Problem problem = problem_of(DType::bf16, 64, 64);
    for (const float scale : {2.4e38F, -2.4e38F, std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
      problem.scale = scale;
      EXPECT_THAT(refusal(of, problem), Optional(HasSubstr("not finite"))) << of.arch << " " << scale;
    }
    for (const float scale : {2.3e38F, -2.3e38F, 0.0F, -0.5F}) {
      problem.scale = scale;
      EXPECT_EQ(refusal(of, problem), std::nullopt) << of.arch << " " << scale;
    }
  }
}

// sm_86, sm_89 and sm_120 have 99 KB. At hdim 256 two tiles of 32 rows of Q and dO are 64 KB, two of dS 8 KB,
// 64 keys and values 64 KB, and LSE and D 512 bytes.
TEST(MatrixRefusal, SaysHowMuchSharedMemoryIsMissing) {
  for (const char* arch : {"sm_86", "sm_89", "sm_120"}) {
    const Case of = {mma::family(), arch};
    for (const std::int64_t hdim : {64, 72, 128}) {
      EXPECT_EQ(refusal(of, problem_of(DType::fp16, hdim, 64)), std::nullopt) << arch << " " << hdim;
    }
    for (const std::int64_t hdim : {136, 256}) {
      EXPECT_THAT(
          refusal(of, problem_of(DType::fp16, hdim, 64)),
          Optional(HasSubstr("102656 bytes of shared memory, and " + std::string(arch) + " has 101376")))
          << hdim;
    }
  }
}

TEST(MatrixRefusal, SaysThatAProblemHasTooManyTilesForALaunch) {
  for (const Case& of : cases()) {
    Problem problem = problem_of(DType::bf16, 64, 64);
    problem.batch = problem.nhead_q = problem.nhead_k = 1 << 10;
    problem.seqlen_q = 1;
    problem.seqlen_k = 256;  // 2^24 tiles of 16
    EXPECT_THAT(refusal(of, problem), Not(Optional(HasSubstr("tiles")))) << of.arch;
    problem.seqlen_k = 257;
    EXPECT_THAT(refusal(of, problem), Optional(HasSubstr("tiles"))) << of.arch;
  }
}

}  // namespace
}  // namespace fmha_bwd::emulator
