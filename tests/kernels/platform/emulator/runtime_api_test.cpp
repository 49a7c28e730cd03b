// HIP's host API in the emulator.
#include <cstring>
#include <limits>
#include <map>
#include <thread>

#include "kernels/platform/emulator/architecture.h"
#include "tests/kernels/platform/emulator/emulator_test.h"

namespace fmha_bwd {
namespace {

using RuntimeApi = Emulator;
using testing::HasSubstr;

TEST_F(RuntimeApi, HasADeviceForEveryArchitecture) {
  struct Limits {
    int wave_size;
    std::size_t shared_bytes;
  };
  const std::map<std::string, Limits> expected = {
      {"gfx90a", {64, 65536}},  {"gfx942", {64, 65536}}, {"gfx950", {64, 163840}}, {"gfx1100", {32, 65536}},
      {"gfx1201", {32, 65536}}, {"sm_80", {32, 166912}}, {"sm_90a", {32, 232448}}};
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  EXPECT_EQ(count, static_cast<int>(expected.size()));
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t properties = {};
    ASSERT_EQ(hipGetDeviceProperties(&properties, device), hipSuccess);
    ASSERT_TRUE(expected.contains(properties.gcnArchName)) << properties.gcnArchName;
    const Limits& limits = expected.at(properties.gcnArchName);
    EXPECT_EQ(properties.warpSize, limits.wave_size) << properties.gcnArchName;
    EXPECT_EQ(properties.sharedMemPerBlock, limits.shared_bytes) << properties.gcnArchName;
    EXPECT_THAT(properties.name, HasSubstr(properties.gcnArchName));
    EXPECT_GT(properties.multiProcessorCount, 0);
    EXPECT_GT(properties.totalGlobalMem, 0u);
  }
}

TEST_F(RuntimeApi, SelectsADeviceForTheCallingThread) {
  ASSERT_EQ(hipSetDevice(3), hipSuccess);
  int device = -1;
  ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_EQ(device, 3);
  std::thread([&] { EXPECT_EQ(hipGetDevice(&device), hipSuccess); }).join();
  EXPECT_EQ(device, 0);
}

TEST_F(RuntimeApi, RefusesDevicesThatAreNotThere) {
  hipDeviceProp_t properties = {};
  for (const int device : {-1, 7, 1000}) {
    EXPECT_EQ(hipSetDevice(device), hipErrorInvalidDevice);
    EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
    EXPECT_EQ(hipGetDeviceProperties(&properties, device), hipErrorInvalidDevice);
    EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  }
}

TEST_F(RuntimeApi, ForgetsAnErrorThatWasAskedFor) {
  EXPECT_EQ(hipSetDevice(-1), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST_F(RuntimeApi, SaysWhatAnErrorIs) {
  EXPECT_STREQ(hipGetErrorString(hipSuccess), "no error");
  EXPECT_STREQ(hipGetErrorString(hipErrorOutOfMemory), "out of memory");
  EXPECT_STREQ(hipGetErrorString(hipErrorInvalidValue), "invalid value");
  EXPECT_STREQ(hipGetErrorString(hipErrorInvalidDevice), "invalid device");
}

TEST_F(RuntimeApi, CopiesToTheDeviceWithinItAndBack) {
  const std::vector<int> values = {1, 2, 3, 4, 5};
  const DeviceArray<int> a(values);
  const DeviceArray<int> b(5);
  ASSERT_EQ(hipMemcpy(b.data(), a.data(), 20, hipMemcpyDeviceToDevice), hipSuccess);
  EXPECT_EQ(b.values(), values);
  ASSERT_EQ(hipMemcpyAsync(b.data() + 1, values.data() + 3, 8, hipMemcpyHostToDevice, nullptr), hipSuccess);
  EXPECT_EQ(b.values(), (std::vector<int>{1, 4, 5, 4, 5}));
  ASSERT_EQ(hipMemcpy(a.data() + 1, a.data(), 16, hipMemcpyDeviceToDevice), hipSuccess);  // overlapping
  EXPECT_EQ(a.values(), (std::vector<int>{1, 1, 2, 3, 4}));
}

TEST_F(RuntimeApi, SetsBytes) {
  const DeviceArray<unsigned> memory(std::vector<unsigned>{1, 2, 3});
  ASSERT_EQ(hipMemset(memory.data() + 1, 0xA5, 4), hipSuccess);
  EXPECT_EQ(memory.values(), (std::vector<unsigned>{1, 0xA5A5A5A5u, 3}));
  ASSERT_EQ(hipMemsetAsync(memory.data(), 0x1FF, 12, nullptr), hipSuccess);  // its lowest byte counts
  EXPECT_EQ(memory.values(), (std::vector<unsigned>{~0u, ~0u, ~0u}));
}

TEST_F(RuntimeApi, CopiesAndSetsNothingThatIsNotAllocated) {
  const DeviceArray<char> memory(std::vector<char>(64, 'x'));
  std::vector<char> host(128, 'h');
  char* const device = memory.data();
  const auto expect_refused = [](hipError_t error) {
    EXPECT_EQ(error, hipErrorInvalidValue);
    EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
  };
  expect_refused(hipMemcpy(device, host.data(), 65, hipMemcpyHostToDevice));
  expect_refused(hipMemcpy(device + 1, host.data(), 64, hipMemcpyHostToDevice));
  expect_refused(hipMemcpy(device - 1, host.data(), 2, hipMemcpyHostToDevice));
  expect_refused(hipMemcpy(host.data(), device + 60, 5, hipMemcpyDeviceToHost));
  expect_refused(hipMemcpy(host.data(), device, 65, hipMemcpyDeviceToHost));
  expect_refused(hipMemcpy(device, device, 65, hipMemcpyDeviceToDevice));
  expect_refused(hipMemcpy(device, host.data(), 8, hipMemcpyDeviceToDevice));
  expect_refused(hipMemcpy(host.data(), host.data() + 64, 8, hipMemcpyHostToDevice));
  expect_refused(hipMemset(device, 0, 65));
  expect_refused(hipMemset(device + 64, 0, 1));
  expect_refused(hipMemset(host.data(), 0, 1));
  expect_refused(hipMemset(nullptr, 0, 1));
  expect_refused(
      hipMemcpy(device, host.data(), std::numeric_limits<std::size_t>::max(), hipMemcpyHostToDevice));
  EXPECT_EQ(memory.values(), std::vector<char>(64, 'x'));
  EXPECT_EQ(host, std::vector<char>(128, 'h'));
}

TEST_F(RuntimeApi, CopiesNoBytesFromAnywhere) {
  EXPECT_EQ(hipMemcpy(nullptr, nullptr, 0, hipMemcpyHostToDevice), hipSuccess);
  EXPECT_EQ(hipMemset(nullptr, 0, 0), hipSuccess);
}

TEST_F(RuntimeApi, FreesOnlyWhatItAllocated) {
  const auto expect_refused = [](hipError_t error) {
    EXPECT_EQ(error, hipErrorInvalidValue);
    EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
  };
  char* memory = nullptr;
  ASSERT_EQ(hipMalloc(&memory, 64), hipSuccess);
  expect_refused(hipFree(memory + 1));
  char on_the_host = 0;
  expect_refused(hipFree(&on_the_host));
  EXPECT_EQ(hipFree(memory), hipSuccess);
  expect_refused(hipFree(memory));
  expect_refused(hipMemset(memory, 0, 1));
  EXPECT_EQ(hipFree(nullptr), hipSuccess);
}

TEST_F(RuntimeApi, AlignsAllocationsForEveryType) {
  for (const std::size_t bytes : {1u, 3u, 100u, 5000u}) {
    const DeviceArray<char> memory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 256, 0u) << bytes;
  }
}

TEST_F(RuntimeApi, RunsOutOfMemoryCleanly) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSERT_EQ(hipMemGetInfo(&free_bytes, &total_bytes), hipSuccess);
  EXPECT_LE(free_bytes, total_bytes);
  for (const std::size_t bytes : {free_bytes + 1, total_bytes + 1, std::numeric_limits<std::size_t>::max()}) {
    void* memory = &free_bytes;
    EXPECT_EQ(hipMalloc(&memory, bytes), hipErrorOutOfMemory);
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(hipGetLastError(), hipErrorOutOfMemory);
  }
  std::size_t still_free = 0;
  ASSERT_EQ(hipMemGetInfo(&still_free, &total_bytes), hipSuccess);
  EXPECT_EQ(still_free, free_bytes);
}

TEST_F(RuntimeApi, CountsTheFreeMemory) {
  std::size_t before = 0;
  std::size_t during = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  {
    const DeviceArray<char> memory(1000000);
    ASSERT_EQ(hipMemGetInfo(&during, &total), hipSuccess);
  }
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before - during, 1000000u);
  EXPECT_EQ(after, before);
}

TEST_F(RuntimeApi, TimesEventsInTheirOrder) {
  hipStream_t stream = nullptr;
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(hipEventCreate(&start), hipSuccess);
  ASSERT_EQ(hipEventCreate(&stop), hipSuccess);
  ASSERT_EQ(hipEventRecord(start, stream), hipSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(hipEventRecord(stop, stream), hipSuccess);
  ASSERT_EQ(hipEventSynchronize(stop), hipSuccess);
  float milliseconds = -1.0F;
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, start, stop), hipSuccess);
  EXPECT_GE(milliseconds, 5.0F);
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, stop, start), hipSuccess);
  EXPECT_LE(milliseconds, -5.0F);
  EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipEventDestroy(start), hipSuccess);
  EXPECT_EQ(hipEventDestroy(stop), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
}

TEST_F(RuntimeApi, TellsOfAFailedLaunchWhereverItIsWaitedFor) {
  const auto fail = [] {
    hipLaunchKernelGGL(test_kernels::barrier_after_exit, dim3(1), dim3(64), 0, nullptr, 1);
  };
  fail();
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorLaunchFailure);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  fail();
  EXPECT_EQ(hipStreamSynchronize(nullptr), hipErrorLaunchFailure);
  EXPECT_THAT(hipGetErrorString(hipErrorLaunchFailure), HasSubstr("divergent barrier"));
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST_F(RuntimeApi, KeepsTheErrorsOfThreadsApart) {
  hipLaunchKernelGGL(test_kernels::barrier_after_exit, dim3(1), dim3(64), 0, nullptr, 1);
  std::thread([] { EXPECT_EQ(hipGetLastError(), hipSuccess); }).join();
  EXPECT_THAT(report_of_fault(), HasSubstr("divergent barrier"));
}

}  // namespace
}  // namespace fmha_bwd
