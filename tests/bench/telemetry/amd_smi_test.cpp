#include "bench/telemetry/amd_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/telemetry/fake_amd_smi.h"
#include "tests/bench/telemetry/fake_state.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;

constexpr char kBusId[] = "0001:c1:02.3";
constexpr std::uint64_t kMillisecond = 1'000'000;  // in ns

struct Fake : FakeState<FakeAmdSmi> {
  explicit Fake(const char* path) : FakeState(path, "fake_amd_smi") {}
};

TEST(AmdSmiTest, ReadsClockAndTemperature) {
  Fake fake(FAKE_AMD_SMI);
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  EXPECT_EQ(opened.absence, "");
  EXPECT_EQ(opened.watch->read().clock_mhz, 2100.0);
  EXPECT_EQ(opened.watch->read().temperature_c, 64.0);
  fake->temperature = 64'500;  // as documented, in thousandths
  EXPECT_EQ(opened.watch->read().temperature_c, 64.5);
}

TEST(AmdSmiTest, KnowsWhatDoesNotChange) {
  const Fake fake(FAKE_AMD_SMI);
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  EXPECT_EQ(opened.watch->facts().library, "amd-smi");
  EXPECT_EQ(opened.watch->facts().driver, "6.12.12");
  EXPECT_EQ(opened.watch->facts().power_cap_watts, 750.0);
  EXPECT_EQ(opened.watch->facts().max_clock_mhz, 2400.0);
}

TEST(AmdSmiTest, ReadsThePowerCapInWattsAndTheDriversNameOfOldLibraries) {
  Fake fake(FAKE_AMD_SMI);
  fake->power_cap = 560;
  fake->driver = "amdgpu";
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  EXPECT_EQ(opened.watch->facts().power_cap_watts, 560.0);
  EXPECT_EQ(opened.watch->facts().driver, "");
}

TEST(AmdSmiTest, DerivesPowerFromTheEnergyBetweenTwoReadings) {
  Fake fake(FAKE_AMD_SMI);
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  fake->energy_nanoseconds = 10 * kMillisecond;
  EXPECT_EQ(opened.watch->read().power_watts, std::nullopt);  // too early for an honest mean
  fake->energy_count += 4'000'000;                            // of 15.25 uJ: 61 J
  fake->energy_nanoseconds = 100 * kMillisecond;
  EXPECT_DOUBLE_EQ(opened.watch->read().power_watts.value(), 610.0);
  fake->energy_nanoseconds = 110 * kMillisecond;
  EXPECT_DOUBLE_EQ(opened.watch->read().power_watts.value(), 610.0);  // the last one, until 50 ms have passed
  fake->energy_count += 1'000'000;
  fake->energy_nanoseconds = 200 * kMillisecond;
  EXPECT_DOUBLE_EQ(opened.watch->read().power_watts.value(), 152.5);
}

TEST(AmdSmiTest, HasNoPowerWhereTheEnergyCountStartsAnew) {
  Fake fake(FAKE_AMD_SMI);
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  fake->energy_count = 0;
  fake->energy_nanoseconds = 100 * kMillisecond;
  EXPECT_EQ(opened.watch->read().power_watts, std::nullopt);
}

TEST(AmdSmiTest, HasNoClockWhereTheLibraryHasAPlaceholder) {
  Fake fake(FAKE_AMD_SMI);
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  for (const std::uint32_t placeholder : {0U, 0xffffU, 0xffffffffU}) {
    fake->clock_mhz = placeholder;
    EXPECT_EQ(opened.watch->read().clock_mhz, std::nullopt) << placeholder;
  }
}

TEST(AmdSmiTest, LosesOnlyTheValueWhoseFunctionFails) {
  Fake fake(FAKE_AMD_SMI);
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  fake->failing = {"amdsmi_get_temp_metric", "amdsmi_get_energy_count"};
  EXPECT_EQ(opened.watch->read().clock_mhz, 2100.0);
  EXPECT_EQ(opened.watch->read().temperature_c, std::nullopt);
  EXPECT_EQ(opened.watch->read().power_watts, std::nullopt);
  fake->failing = {"amdsmi_get_clock_info"};
  EXPECT_EQ(opened.watch->read().clock_mhz, std::nullopt);
  EXPECT_EQ(opened.watch->read().temperature_c, 64.0);
}

TEST(AmdSmiTest, OpensWhereTheFactsAreRefused) {
  Fake fake(FAKE_AMD_SMI);
  fake->failing = {"amdsmi_get_clock_info", "amdsmi_get_power_cap_info", "amdsmi_get_gpu_driver_info"};
  const OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  ASSERT_TRUE(opened.watch) << opened.absence;
  EXPECT_EQ(opened.watch->facts().driver, "");
  EXPECT_EQ(opened.watch->facts().power_cap_watts, std::nullopt);
  EXPECT_EQ(opened.watch->facts().max_clock_mhz, std::nullopt);
}

TEST(AmdSmiTest, SaysWhyThereIsNoWatch) {
  Fake fake(FAKE_AMD_SMI);
  EXPECT_THAT(open_amd_smi(kBusId, "/nowhere/libamd_smi.so").absence, HasSubstr("/nowhere/libamd_smi.so"));
  EXPECT_THAT(open_amd_smi(kBusId, FAKE_AMD_SMI_WITHOUT_HANDLES).absence,
              HasSubstr("lacks amdsmi_get_processor_handle_from_bdf"));
  EXPECT_EQ(open_amd_smi("0001:c1:02.4", FAKE_AMD_SMI).absence, "amd-smi: 0001:c1:02.4: NOT_FOUND");
  EXPECT_EQ(fake->initialized, 0);
  fake->failing = {"amdsmi_init"};
  EXPECT_EQ(open_amd_smi(kBusId, FAKE_AMD_SMI).absence, "amd-smi: amdsmi_init: NOT_SUPPORTED");
}

TEST(AmdSmiTest, RefusesWhatIsNoPciAddress) {
  for (const char* text : {"", "c1:02.3", "0001:c1:02", "0001:c1:02.3.4", "0001:1c1:02.3", "0001:c1:20.3",
                           "0001:c1:02.8", "000g:c1:02.3", "-1:c1:02.3"}) {
    EXPECT_THAT(open_amd_smi(text, FAKE_AMD_SMI).absence, HasSubstr("is no PCI address")) << text;
  }
}

TEST(AmdSmiTest, ShutsTheLibraryDownWhenTheWatchGoes) {
  Fake fake(FAKE_AMD_SMI);
  OpenedWatch opened = open_amd_smi(kBusId, FAKE_AMD_SMI);
  EXPECT_EQ(fake->initialized, 1);
  opened.watch.reset();
  EXPECT_EQ(fake->initialized, 0);
}

}  // namespace
}  // namespace fmha_bwd
