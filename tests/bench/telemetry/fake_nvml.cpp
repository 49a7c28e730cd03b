// Macros, of the target: FAKE_NVML_OLD, the driver of a time when the reasons had another function;
// FAKE_NVML_WITHOUT_HANDLES, a library that is not NVML at all.
#include "tests/bench/telemetry/fake_nvml.h"

#include <cstring>

namespace {

using fmha_bwd::FakeNvml;

constexpr int kInvalid = 2;
constexpr int kNotFound = 6;
constexpr int kUnknown = 999;

FakeNvml fake;
int device;

/// `value` into *found, of the one device and kind that there is.
int answer(const char* function, const void* asked, bool allowed, unsigned value, unsigned* found) {
  if (fake.failing.count(function) != 0) return kUnknown;
  if (fake.initialized == 0 || asked != &device || !allowed) return kInvalid;
  *found = value;
  return 0;
}

int give_reasons(const char* function, void* asked, unsigned long long* reasons) {
  if (fake.failing.count(function) != 0) return kUnknown;
  if (asked != &device) return kInvalid;
  *reasons = fake.reasons;
  return 0;
}

}  // namespace

extern "C" {

FakeNvml* fake_nvml() { return &fake; }

int nvmlInit_v2() {
  if (fake.failing.count("nvmlInit_v2") != 0) return kUnknown;
  ++fake.initialized;
  return 0;
}

int nvmlShutdown() {
  --fake.initialized;
  return 0;
}

const char* nvmlErrorString(int status) { return status == kNotFound ? "Not Found" : "Unknown Error"; }

#ifndef FAKE_NVML_WITHOUT_HANDLES
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** found) {
  if (std::strcmp(bus_id, "0000:19:00.0") != 0) return kNotFound;
  *found = &device;
  return 0;
}
#endif

int nvmlSystemGetDriverVersion(char* version, unsigned bytes) {
  if (fake.failing.count("nvmlSystemGetDriverVersion") != 0) return kUnknown;
  std::strncpy(version, "580.82.07", bytes);
  return 0;
}

int nvmlDeviceGetClockInfo(void* asked, int kind, unsigned* mhz) {
  return answer("nvmlDeviceGetClockInfo", asked, kind == 1, 1755, mhz);
}

int nvmlDeviceGetMaxClockInfo(void* asked, int kind, unsigned* mhz) {
  return answer("nvmlDeviceGetMaxClockInfo", asked, kind == 1, 1980, mhz);
}

int nvmlDeviceGetPowerUsage(void* asked, unsigned* milliwatts) {
  return answer("nvmlDeviceGetPowerUsage", asked, true, 512'250, milliwatts);
}

int nvmlDeviceGetEnforcedPowerLimit(void* asked, unsigned* milliwatts) {
  return answer("nvmlDeviceGetEnforcedPowerLimit", asked, true, 700'000, milliwatts);
}

int nvmlDeviceGetTemperature(void* asked, int sensor, unsigned* degrees) {
  return answer("nvmlDeviceGetTemperature", asked, sensor == 0, 61, degrees);
}

#ifdef FAKE_NVML_OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(void* asked, unsigned long long* reasons) {
#else
int nvmlDeviceGetCurrentClocksEventReasons(void* asked, unsigned long long* reasons) {
#endif
  return give_reasons("reasons", asked, reasons);
}

}  // extern "C"
