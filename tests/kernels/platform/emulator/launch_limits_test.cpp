// Limits of launches that differ between vendors.
#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/report_kernels.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;

class LaunchLimits : public Emulator {
 protected:
  /// Why a launch cannot start; empty where it can.
  static std::string refusal(const dim3& grid, const dim3& block, std::size_t shared_bytes = 0) {
    hipLaunchKernelGGL(test_kernels::fail_in_some_workgroups, grid, block, shared_bytes, nullptr);
    const hipError_t error = hipGetLastError();
    if (error == hipSuccess) return "";
    EXPECT_EQ(error, hipErrorInvalidConfiguration);
    return hipGetErrorString(error);
  }
};

TEST_F(LaunchLimits, OfAmdAreTheLanesOfADimension) {
  EXPECT_EQ(refusal(dim3(1, 65536), dim3(1)), "");
  EXPECT_EQ(refusal(dim3(1), dim3(1, 1, 65)), "");
  EXPECT_THAT(refusal(dim3(1u << 31), dim3(2)), HasSubstr("allowed are 1 to 4294967295 lanes in each"));
  EXPECT_THAT(refusal(dim3(1, 1u << 30), dim3(1, 4)), HasSubstr("a grid of (1,1073741824,1) workgroups"));
}

TEST_F(LaunchLimits, OfNvidiaAreTheWorkgroupsOfADimension) {
  select_arch("sm_80");
  EXPECT_EQ(refusal(dim3(1), dim3(1, 1, 64)), "");
  EXPECT_THAT(refusal(dim3(1, 65536), dim3(1)), HasSubstr("(2147483647,65535,65535) workgroups"));
  EXPECT_THAT(refusal(dim3(1, 1, 65536), dim3(1)), HasSubstr("on sm_80: a grid of (1,1,65536)"));
  EXPECT_THAT(refusal(dim3(1), dim3(1, 1, 65)), HasSubstr("at most 64 lanes in z"));
}

TEST_F(LaunchLimits, OfNvidiaAre48KiBUntilTheKernelIsAllowedMore) {
  const auto* kernel = reinterpret_cast<const void*>(&test_kernels::fail_in_some_workgroups);
  EXPECT_EQ(refusal(dim3(1), dim3(1), 65536), "");
  for (const char* arch : {"sm_80", "sm_90a"}) {
    select_arch(arch);
    EXPECT_EQ(refusal(dim3(1), dim3(1), 49152), "");
    EXPECT_THAT(refusal(dim3(1), dim3(1), 49153),
                HasSubstr("over 49152 the kernel needs hipFuncSetAttribute"));
    ASSERT_EQ(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 49153), hipSuccess);
    EXPECT_EQ(refusal(dim3(1), dim3(1), 49153), "");
    EXPECT_THAT(refusal(dim3(1), dim3(1), 49154), HasSubstr("needs hipFuncSetAttribute"));
  }
  EXPECT_EQ(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 232449),
            hipErrorInvalidValue);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
}

}  // namespace
}  // namespace fmha_bwd
