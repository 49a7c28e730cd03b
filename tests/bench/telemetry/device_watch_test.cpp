#include "bench/telemetry/device_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

using ::testing::StartsWith;

TEST(DeviceWatchTest, TakesTheLibraryOfThePlatform) {
  const OpenedWatch nvidia = open_device_watch("nvidia", "0000:19:00.0", FAKE_NVML);
  ASSERT_TRUE(nvidia.watch) << nvidia.absence;
  EXPECT_EQ(nvidia.watch->facts().library, "nvml");
  const OpenedWatch amd = open_device_watch("amd", "0001:c1:02.3", FAKE_AMD_SMI);
  ASSERT_TRUE(amd.watch) << amd.absence;
  EXPECT_EQ(amd.watch->facts().library, "amd-smi");
}

TEST(DeviceWatchTest, HasNothingToReadOnOtherPlatforms) {
  for (const char* platform : {"emulator", "cpu"}) {
    const OpenedWatch opened = open_device_watch(platform, "");
    EXPECT_FALSE(opened.watch);
    EXPECT_THAT(opened.absence, StartsWith(platform));
  }
}

}  // namespace
}  // namespace fmha_bwd
