#include "kernels/peak.h"

#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

Device device_of(const std::string& arch, std::int64_t multiprocessors, double max_clock_mhz) {
  Device device;
  device.arch = arch;
  device.limits.multiprocessors = multiprocessors;
  device.limits.max_clock_mhz = max_clock_mhz;
  return device;
}

/// Within the half of the last digit that data sheets round to.
void expect_teraflops(double flops, double published) {
  EXPECT_NEAR(flops * 1e-12, published, published * 0.01);
}

// Dense, at the clock that the data sheets' numbers are of.
TEST(Peak, OfNvidiaIsWhatTheDataSheetsSay) {
  expect_teraflops(peak_flops(device_of("sm_80", 108, 1410.0), DType::fp16), 312.0);
  expect_teraflops(peak_flops(device_of("sm_80", 108, 1410.0), DType::fp32), 19.5);
  expect_teraflops(peak_flops(device_of("sm_90", 132, 1830.0), DType::bf16), 989.4);
  expect_teraflops(peak_flops(device_of("sm_90", 132, 1980.0), DType::fp32), 66.9);
}

TEST(Peak, OfAmdIsWhatTheDataSheetsSay) {
  expect_teraflops(peak_flops(device_of("gfx90a", 104, 1700.0), DType::fp16), 181.0);  // MI210
  expect_teraflops(peak_flops(device_of("gfx90a", 104, 1700.0), DType::fp32), 22.6);
  expect_teraflops(peak_flops(device_of("gfx942", 304, 2100.0), DType::bf16), 1307.4);  // MI300X
  expect_teraflops(peak_flops(device_of("gfx942", 304, 2100.0), DType::fp32), 163.4);
  expect_teraflops(peak_flops(device_of("gfx950", 256, 2400.0), DType::fp16), 2516.6);  // MI355X
  expect_teraflops(peak_flops(device_of("gfx950", 256, 2400.0), DType::fp32), 157.3);
}

TEST(Peak, IsUnknownForOtherArchitecturesAndWithoutAClock) {
  EXPECT_EQ(peak_flops(device_of("sm_89", 100, 2000.0), DType::fp16), 0.0);
  EXPECT_EQ(peak_flops(device_of("", 100, 2000.0), DType::fp16), 0.0);
  EXPECT_EQ(peak_flops(device_of("sm_90", 132, 0.0), DType::fp16), 0.0);
}

TEST(Peak, TheEmulatorHasNone) {
  Device device = device_of("gfx942", 304, 2100.0);
  device.emulated = true;
  EXPECT_EQ(peak_flops(device, DType::fp16), 0.0);
}

}  // namespace
}  // namespace fmha_bwd
