#include "tests/bench/telemetry/fake_amd_smi.h"

#include <cstring>

namespace {

using fmha_bwd::FakeAmdSmi;

constexpr int kInvalid = 1;
constexpr int kNotSupported = 2;
constexpr int kNotFound = 31;
// Domain 1, bus c1, device 2, function 3.
constexpr std::uint64_t kAddress = (std::uint64_t{1} << 16) | (0xc1 << 8) | (2 << 3) | 3;

FakeAmdSmi fake;
int device;

int status_of(const char* function, const void* asked, bool allowed = true) {
  if (fake.failing.count(function) != 0) return kNotSupported;
  return fake.initialized == 1 && asked == &device && allowed ? 0 : kInvalid;
}

struct ClockInfo {
  std::uint32_t clock, least, most;
  std::uint8_t locked, deep_sleep;
  std::uint32_t reserved[4];
};

struct PowerCapInfo {
  std::uint64_t cap, default_cap, dpm_cap, least, most;
  std::uint64_t reserved[3];
};

struct DriverInfo {
  char version[256], date[256], name[256];
};

}  // namespace

extern "C" {

FakeAmdSmi* fake_amd_smi() { return &fake; }

int amdsmi_init(std::uint64_t flags) {
  if (fake.failing.count("amdsmi_init") != 0) return kNotSupported;
  if (flags != 2) return kInvalid;
  ++fake.initialized;
  return 0;
}

int amdsmi_shut_down() {
  --fake.initialized;
  return 0;
}

int amdsmi_status_code_to_string(int status, const char** text) {
  *text = status == kNotFound ? "NOT_FOUND" : "NOT_SUPPORTED";
  return 0;
}

#ifndef FAKE_AMD_SMI_WITHOUT_HANDLES
int amdsmi_get_processor_handle_from_bdf(std::uint64_t address, void** found) {
  if (address != kAddress) return kNotFound;
  *found = &device;
  return 0;
}
#endif

int amdsmi_get_clock_info(void* asked, int kind, void* info) {
  const ClockInfo clocks = {fake.clock_mhz, 500, 2400, 0, 0, {}};
  const int status = status_of("amdsmi_get_clock_info", asked, kind == 0);
  if (status == 0) std::memcpy(info, &clocks, sizeof clocks);
  return status;
}

int amdsmi_get_temp_metric(void* asked, int sensor, int metric, std::int64_t* temperature) {
  const int status = status_of("amdsmi_get_temp_metric", asked, sensor == 1 && metric == 0);
  if (status == 0) *temperature = fake.temperature;
  return status;
}

int amdsmi_get_energy_count(void* asked, std::uint64_t* count, float* microjoules,
                            std::uint64_t* nanoseconds) {
  const int status = status_of("amdsmi_get_energy_count", asked);
  if (status != 0) return status;
  *count = fake.energy_count;
  *microjoules = 15.25F;
  *nanoseconds = fake.energy_nanoseconds;
  return 0;
}

int amdsmi_get_power_cap_info(void* asked, std::uint32_t sensor, void* info) {
  const PowerCapInfo cap = {fake.power_cap, 750'000'000, 2400, 0, 750'000'000, {}};
  const int status = status_of("amdsmi_get_power_cap_info", asked, sensor == 0);
  if (status == 0) std::memcpy(info, &cap, sizeof cap);
  return status;
}

int amdsmi_get_gpu_driver_info(void* asked, void* info) {
  DriverInfo driver = {};
  std::strncpy(driver.version, fake.driver, sizeof driver.version - 1);
  const int status = status_of("amdsmi_get_gpu_driver_info", asked);
  if (status == 0) std::memcpy(info, &driver, sizeof driver);
  return status;
}

}  // extern "C"
