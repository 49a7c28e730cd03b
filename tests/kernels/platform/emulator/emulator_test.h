// What the emulator's tests share: arrays on the device, and a fixture that sees to it that whatever a test
// made go wrong is over after it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/platform/emulator/hip/hip_runtime.h"
#include "kernels/platform/emulator/launch.h"
#include "tests/kernels/platform/emulator/lane_kernels.h"

namespace fmha_bwd {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// `count` elements of device memory.
template <class T>
class DeviceArray {
 public:
  /// Nothing is written there yet.
  explicit DeviceArray(std::size_t count) : count_(count) {
    EXPECT_EQ(hipMalloc(&data_, count * sizeof(T)), hipSuccess);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    EXPECT_EQ(hipMemcpy(data_, values.data(), count_ * sizeof(T), hipMemcpyHostToDevice), hipSuccess);
  }
  ~DeviceArray() { EXPECT_EQ(hipFree(data_), hipSuccess); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> values(count_);
    EXPECT_EQ(hipMemcpy(values.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

inline void select_arch(std::string_view arch) {
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t properties = {};
    ASSERT_EQ(hipGetDeviceProperties(&properties, device), hipSuccess);
    if (properties.gcnArchName == arch) {
      ASSERT_EQ(hipSetDevice(device), hipSuccess);
      return;
    }
  }
  FAIL() << "no emulated " << arch;
}

/// What the emulator says against the launches since the last call; empty where it has nothing to say.
inline std::string objection() {
  const hipError_t error = hipGetLastError();
  return error == hipSuccess ? "" : hipGetErrorString(error);
}

/// The same, where a kernel must have been stopped for what it did.
inline std::string report_of_fault() {
  const hipError_t error = hipGetLastError();
  EXPECT_EQ(error, hipErrorLaunchFailure) << hipGetErrorString(error);
  return hipGetErrorString(error);
}

/// Starts on a gfx942, in order. After each test a correct kernel runs, whatever happened before.
class Emulator : public testing::Test {
 protected:
  void SetUp() override {
    select_arch("gfx942");
    set_settings({});
  }
  void TearDown() override {
    EXPECT_EQ(objection(), "");
    std::vector<int> values(256);
    for (int i = 0; i < 256; ++i) values[static_cast<std::size_t>(i)] = i;
    const DeviceArray<int> in(values);
    const DeviceArray<int> out(256);
    hipLaunchKernelGGL(test_kernels::reverse, dim3(1), dim3(256), 1024, nullptr, in.data(), out.data());
    EXPECT_EQ(objection(), "");
    EXPECT_EQ(out.values(), std::vector<int>(values.rbegin(), values.rend()));
    set_settings({});
  }
};

/// For what ThreadSanitizer's build does not check.
class MemoryChecks : public Emulator {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer takes the place of the emulator's memory checks";
    Emulator::SetUp();
  }
};

}  // namespace fmha_bwd
