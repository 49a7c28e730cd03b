#include "src/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;

Device device(const std::string& platform, int index, const std::string& arch) {
  Device made;
  made.platform = platform;
  made.index = index;
  made.arch = arch;
  return made;
}

const Platform kEmulator = {"emulator",
                            {"gfx942", "gfx1100"},
                            {device("emulator", 0, "gfx942"), device("emulator", 1, "gfx1100")},
                            ""};
const Platform kNvidia = {
    "nvidia", {"sm_80", "sm_90a"}, {device("nvidia", 0, "sm_80"), device("nvidia", 1, "sm_90")}, ""};
const Platform kNoNvidia = {"nvidia", {"sm_90a"}, {}, "no CUDA-capable device is detected"};
const Platform kAmd = {"amd", {"gfx942"}, {device("amd", 0, "gfx942")}, ""};

void expect_error(ExitCode code, const std::string& text, const std::string& device,
                  const std::optional<std::string>& arch, const std::vector<Platform>& platforms) {
  try {
    choose_device(device, arch, platforms);
    ADD_FAILURE() << "nothing was thrown for --device " << device;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(DeviceChoice, AutoTakesAGpuThatAnswers) {
  const DeviceChoice choice = choose_device("auto", std::nullopt, {kNvidia, kEmulator});
  EXPECT_EQ(choice.platform, "nvidia");
  EXPECT_EQ(choice.index, 0);
}

TEST(DeviceChoice, AutoPrefersAmdOverNvidia) {
  EXPECT_EQ(choose_device("auto", std::nullopt, {kAmd, kNvidia, kEmulator}).platform, "amd");
}

TEST(DeviceChoice, AutoTakesTheEmulatorWhereNoGpuAnswersAndSaysWhy) {
  const DeviceChoice choice = choose_device("auto", std::nullopt, {kNoNvidia, kEmulator});
  EXPECT_EQ(choice.platform, "emulator");
  EXPECT_THAT(choice.reason, HasSubstr("no CUDA-capable device is detected"));
}

TEST(DeviceChoice, AutoWithAnArchitectureTakesTheGpuOfThatArchitecture) {
  const DeviceChoice choice = choose_device("auto", "sm_90a", {kNvidia, kEmulator});
  EXPECT_EQ(choice.platform, "nvidia");
  EXPECT_EQ(choice.index, 1);
}

TEST(DeviceChoice, AutoWithAnArchitectureThatNoGpuHasEmulatesIt) {
  const DeviceChoice choice = choose_device("auto", "gfx1100", {kNvidia, kEmulator});
  EXPECT_EQ(choice.platform, "emulator");
  EXPECT_EQ(choice.index, 1);
  EXPECT_THAT(choice.reason, HasSubstr("no gfx1100 GPU answers"));
}

TEST(DeviceChoice, AnIndexPicksOneOfSeveral) {
  EXPECT_EQ(choose_device("nvidia:1", std::nullopt, {kNvidia, kEmulator}).index, 1);
}

TEST(DeviceChoice, WrongNamesIndicesAndArchitecturesAreBadUsage) {
  expect_error(ExitCode::bad_usage, "--device", "tpu", std::nullopt, {kNvidia, kEmulator});
  expect_error(ExitCode::bad_usage, "allowed is 0..1", "nvidia:2", std::nullopt, {kNvidia, kEmulator});
  expect_error(ExitCode::bad_usage, "--device", "nvidia:", std::nullopt, {kNvidia, kEmulator});
  expect_error(ExitCode::bad_usage, "--device", "nvidia:-1", std::nullopt, {kNvidia, kEmulator});
  expect_error(ExitCode::bad_usage, "--arch: 'gfx1'", "auto", "gfx1", {kNvidia, kEmulator});
}

TEST(DeviceChoice, OfAGpuHasNoStatisticsOfTheEmulator) {
  const DeviceChoice gpu = choose_device("auto", std::nullopt, {kNvidia, kEmulator});
  EXPECT_EQ(message_of([&] { check_emulator_stats(gpu); }),
            "--emulator-stats: not counted on nvidia:0, the first GPU that answers; allowed with --device "
            "emulator");
  const DeviceChoice emulator = choose_device("emulator", std::nullopt, {kNvidia, kEmulator});
#if defined(__SANITIZE_THREAD__)
  EXPECT_EQ(message_of([&] { check_emulator_stats(emulator); }, ExitCode::unsupported),
            "--emulator-stats: this program is built with ThreadSanitizer, and its emulator does not see "
            "accesses; allowed in any other build");
#else
  EXPECT_NO_THROW(check_emulator_stats(emulator));
#endif
}

TEST(DeviceChoice, WhatCannotRunHereIsUnsupported) {
  expect_error(ExitCode::unsupported, "not built into", "amd", std::nullopt, {kNvidia, kEmulator});
  expect_error(ExitCode::unsupported, "no nvidia device answers", "nvidia", std::nullopt,
               {kNoNvidia, kEmulator});
  expect_error(ExitCode::unsupported, "nvidia:0 is sm_80", "nvidia:0", "sm_90a", {kNvidia, kEmulator});
  expect_error(ExitCode::unsupported, "but amd has gfx942", "amd", "gfx90a", {kAmd, kEmulator});
}

}  // namespace
}  // namespace fmha_bwd
