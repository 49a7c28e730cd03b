#include "bench/telemetry/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/telemetry/fake_nvml.h"
#include "tests/bench/telemetry/fake_state.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kBusId[] = "0000:19:00.0";

struct Fake : FakeState<FakeNvml> {
  explicit Fake(const char* path) : FakeState(path, "fake_nvml") {}
};

TEST(NvmlTest, ReadsInTheUnitsOfTheReading) {
  const Fake fake(FAKE_NVML);
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  ASSERT_TRUE(opened.watch) << opened.absence;
  EXPECT_EQ(opened.absence, "");
  const DeviceReading reading = opened.watch->read();
  EXPECT_EQ(reading.clock_mhz, 1755.0);
  EXPECT_EQ(reading.power_watts, 512.25);
  EXPECT_EQ(reading.temperature_c, 61.0);
  EXPECT_THAT(reading.throttle, IsEmpty());
}

TEST(NvmlTest, KnowsWhatDoesNotChange) {
  const Fake fake(FAKE_NVML);
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  ASSERT_TRUE(opened.watch) << opened.absence;
  EXPECT_EQ(opened.watch->facts().library, "nvml");
  EXPECT_EQ(opened.watch->facts().driver, "580.82.07");
  EXPECT_EQ(opened.watch->facts().power_cap_watts, 700.0);
  EXPECT_EQ(opened.watch->facts().max_clock_mhz, 1980.0);
}

TEST(NvmlTest, NamesTheReasonsThatHoldTheClockDown) {
  Fake fake(FAKE_NVML);
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  ASSERT_TRUE(opened.watch) << opened.absence;
  fake->reasons = 0x4 | 0x20;
  EXPECT_THAT(opened.watch->read().throttle, ElementsAre("power cap", "thermal"));
  fake->reasons = 0x8 | 0x10 | 0x40 | 0x80;
  EXPECT_THAT(opened.watch->read().throttle,
              ElementsAre("hardware slowdown", "hardware thermal", "power brake", "sync boost"));
}

TEST(NvmlTest, DoesNotCallAnIdleDeviceOrClocksThatTheUserSetThrottled) {
  Fake fake(FAKE_NVML);
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  ASSERT_TRUE(opened.watch) << opened.absence;
  fake->reasons = 0x1 | 0x2 | 0x100;
  EXPECT_THAT(opened.watch->read().throttle, IsEmpty());
}

TEST(NvmlTest, AsksAnOldDriverForTheReasonsByTheirOldName) {
  Fake fake(FAKE_NVML_OLD);
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML_OLD);
  ASSERT_TRUE(opened.watch) << opened.absence;
  fake->reasons = 0x4;
  EXPECT_THAT(opened.watch->read().throttle, ElementsAre("power cap"));
}

TEST(NvmlTest, LosesOnlyTheValueWhoseFunctionFails) {
  Fake fake(FAKE_NVML);
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  ASSERT_TRUE(opened.watch) << opened.absence;
  fake->reasons = 0x4;
  fake->failing = {"nvmlDeviceGetPowerUsage", "reasons"};
  DeviceReading reading = opened.watch->read();
  EXPECT_EQ(reading.clock_mhz, 1755.0);
  EXPECT_EQ(reading.power_watts, std::nullopt);
  EXPECT_EQ(reading.temperature_c, 61.0);
  EXPECT_THAT(reading.throttle, IsEmpty());
  fake->failing = {"nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature"};
  reading = opened.watch->read();
  EXPECT_EQ(reading.clock_mhz, std::nullopt);
  EXPECT_EQ(reading.power_watts, 512.25);
  EXPECT_EQ(reading.temperature_c, std::nullopt);
  EXPECT_THAT(reading.throttle, ElementsAre("power cap"));
}

TEST(NvmlTest, OpensWhereTheFactsAreRefused) {
  Fake fake(FAKE_NVML);
  fake->failing = {"nvmlSystemGetDriverVersion", "nvmlDeviceGetEnforcedPowerLimit",
                   "nvmlDeviceGetMaxClockInfo"};
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  ASSERT_TRUE(opened.watch) << opened.absence;
  EXPECT_EQ(opened.watch->facts().driver, "");
  EXPECT_EQ(opened.watch->facts().power_cap_watts, std::nullopt);
  EXPECT_EQ(opened.watch->facts().max_clock_mhz, std::nullopt);
  EXPECT_EQ(opened.watch->read().clock_mhz, 1755.0);
}

TEST(NvmlTest, SaysWhichLibraryIsAbsent) {
  const OpenedWatch opened = open_nvml(kBusId, "/nowhere/libnvidia-ml.so.1");
  EXPECT_FALSE(opened.watch);
  EXPECT_THAT(opened.absence, HasSubstr("nvml: /nowhere/libnvidia-ml.so.1"));
}

TEST(NvmlTest, SaysWhichFunctionALibraryLacks) {
  Fake fake(FAKE_NVML_WITHOUT_HANDLES);
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML_WITHOUT_HANDLES);
  EXPECT_FALSE(opened.watch);
  EXPECT_THAT(opened.absence, HasSubstr("lacks nvmlDeviceGetHandleByPciBusId_v2"));
  EXPECT_EQ(fake->initialized, 0);
}

TEST(NvmlTest, SaysThatThereIsNoSuchDevice) {
  Fake fake(FAKE_NVML);
  const OpenedWatch opened = open_nvml("0000:20:00.0", FAKE_NVML);
  EXPECT_FALSE(opened.watch);
  EXPECT_EQ(opened.absence, "nvml: 0000:20:00.0: Not Found");
  EXPECT_EQ(fake->initialized, 0);
}

TEST(NvmlTest, SaysThatTheLibraryRefusesToStart) {
  Fake fake(FAKE_NVML);
  fake->failing = {"nvmlInit_v2"};
  const OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  EXPECT_FALSE(opened.watch);
  EXPECT_EQ(opened.absence, "nvml: nvmlInit_v2: Unknown Error");
}

TEST(NvmlTest, ShutsTheLibraryDownWhenTheWatchGoes) {
  Fake fake(FAKE_NVML);
  OpenedWatch opened = open_nvml(kBusId, FAKE_NVML);
  EXPECT_EQ(fake->initialized, 1);
  opened.watch.reset();
  EXPECT_EQ(fake->initialized, 0);
}

}  // namespace
}  // namespace fmha_bwd
