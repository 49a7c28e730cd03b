#include "src/bench/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Device device_of(const std::string& platform, int index) {
  Device device;
  device.platform = platform;
  device.index = index;
  return device;
}

/// Three NVIDIA GPUs, none of AMD, the emulator.
std::vector<Platform> made_up_platforms() {
  return {{"amd", {}, {}, "no AMD GPU found"},
          {"nvidia", {}, {device_of("nvidia", 0), device_of("nvidia", 1), device_of("nvidia", 2)}, ""},
          {"emulator", {}, {device_of("emulator", 0)}, ""}};
}

std::vector<std::string> devices(const std::string& text) { return devices_of(text, made_up_platforms()); }

TEST(DevicesOf, OneIsOne) {
  EXPECT_THAT(devices("nvidia:1"), ElementsAre("nvidia:1"));
  EXPECT_THAT(devices("auto"), ElementsAre("auto"));
}

TEST(DevicesOf, AListHasEachInItsOrder) {
  EXPECT_THAT(devices("nvidia:2,nvidia:0"), ElementsAre("nvidia:2", "nvidia:0"));
  EXPECT_THAT(devices("emulator:0,emulator:0"), ElementsAre("emulator:0", "emulator:0"));
}

TEST(DevicesOf, AllAreThoseThatAnswer) {
  EXPECT_THAT(devices("nvidia:all"), ElementsAre("nvidia:0", "nvidia:1", "nvidia:2"));
  EXPECT_THAT(devices("emulator:all,nvidia:1"), ElementsAre("emulator:0", "nvidia:1"));
}

TEST(DevicesOf, SaysWhyThereIsNone) {
  EXPECT_EQ(message_of([] { devices("amd:all"); }, ExitCode::unsupported),
            "--device: 'amd:all': no AMD GPU found");
  EXPECT_EQ(message_of([] { devices_of("nvidia:all", {}); }, ExitCode::unsupported),
            "--device: 'nvidia:all': not built into this program");
}

TEST(DevicesOf, RefusesWhatIsNoDevice) {
  EXPECT_THAT(message_of([] { devices("toaster:0,nvidia:0"); }), HasSubstr("--device: 'toaster:0'"));
  EXPECT_THAT(message_of([] { devices("nvidia:0,"); }), HasSubstr("--device"));
  EXPECT_THAT(message_of([] { devices("toaster:all"); }), HasSubstr("--device: 'toaster'"));
}

}  // namespace
}  // namespace fmha_bwd
