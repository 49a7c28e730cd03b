#include "kernels/platform/emulator/runtime_api.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "kernels/platform/emulator/architecture.h"
#include "kernels/platform/emulator/device_memory.h"
#include "kernels/platform/emulator/launch.h"
#include "kernels/platform/emulator/report.h"
#include "kernels/platform/emulator/shared_access_counts.h"

namespace hip_emulator {

struct ihipStream_t {};
struct ihipEvent_t {
  std::chrono::steady_clock::time_point time;
};

namespace {

thread_local int current_device = 0;
thread_local hipError_t last_error = hipSuccess;
thread_local bool launch_failed = false;  // and nobody has asked yet
thread_local std::string configuration_report = "invalid configuration";
thread_local std::string failure_report = "launch failure";

hipError_t failed(hipError_t error) {
  last_error = error;
  return error;
}

void refuse_launch(const std::string& report) {
  configuration_report = report;
  failed(hipErrorInvalidConfiguration);
}

/// What a call returns that waits for the device.
hipError_t wait_for_launches() {
  if (!std::exchange(launch_failed, false)) return hipSuccess;
  last_error = hipSuccess;
  return hipErrorLaunchFailure;
}

/// Bytes of shared memory that hipFuncSetAttribute() allowed, by device and kernel.
class SharedMemoryLimits {
 public:
  void set(int device, const void* function, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    limits_[{device, function}] = bytes;
  }
  std::size_t of(int device, const void* function) {
    const std::lock_guard lock(mutex_);
    const auto found = limits_.find({device, function});
    return found == limits_.end() ? 0 : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, const void*>, std::size_t> limits_;
};

SharedMemoryLimits& shared_memory_limits() {
  static SharedMemoryLimits limits;
  return limits;
}

const Architecture& current_architecture() {
  return kArchitectures[static_cast<std::size_t>(current_device)];
}

bool is_device(int device) { return device >= 0 && device < static_cast<int>(kArchitectures.size()); }

}  // namespace

const char* hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "hipSuccess";
    case hipErrorInvalidValue:
      return "hipErrorInvalidValue";
    case hipErrorOutOfMemory:
      return "hipErrorOutOfMemory";
    case hipErrorInvalidConfiguration:
      return "hipErrorInvalidConfiguration";
    case hipErrorNoDevice:
      return "hipErrorNoDevice";
    case hipErrorInvalidDevice:
      return "hipErrorInvalidDevice";
    case hipErrorLaunchFailure:
      return "hipErrorLaunchFailure";
    case hipErrorNotSupported:
      return "hipErrorNotSupported";
  }
  return "hipErrorUnknown";
}

const char* hipGetErrorString(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "no error";
    case hipErrorInvalidValue:
      return "invalid value";
    case hipErrorOutOfMemory:
      return "out of memory";
    case hipErrorInvalidConfiguration:
      return configuration_report.c_str();
    case hipErrorNoDevice:
      return "no device";
    case hipErrorInvalidDevice:
      return "invalid device";
    case hipErrorNotSupported:
      return "not supported";
    case hipErrorLaunchFailure:
      return failure_report.c_str();
  }
  return "unknown error";
}

hipError_t hipGetLastError() {
  launch_failed = false;
  return std::exchange(last_error, hipSuccess);
}

hipError_t hipGetDeviceCount(int* count) {
  *count = static_cast<int>(kArchitectures.size());
  return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (!is_device(device)) return failed(hipErrorInvalidDevice);
  const Architecture& architecture = kArchitectures[static_cast<std::size_t>(device)];
  const std::string arch(architecture.name);
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "SIMT emulator of %s", arch.c_str());
  std::snprintf(properties->gcnArchName, sizeof(properties->gcnArchName), "%s", arch.c_str());
  properties->major = architecture.major;
  properties->minor = architecture.minor;
  properties->multiProcessorCount = static_cast<int>(std::thread::hardware_concurrency());
  properties->totalGlobalMem = DeviceMemory::instance().total_bytes();
  properties->sharedMemPerBlock = architecture.shared_bytes;
  properties->warpSize = architecture.wave_size;
  return hipSuccess;
}

hipError_t hipSetDevice(int device) {
  if (!is_device(device)) return failed(hipErrorInvalidDevice);
  current_device = device;
  return hipSuccess;
}

hipError_t hipGetDevice(int* device) {
  *device = current_device;
  return hipSuccess;
}

hipError_t hipDriverGetVersion(int* version) {
  *version = 0;
  return hipSuccess;
}
hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

hipError_t hipDeviceGetAttribute(int* /*value*/, hipDeviceAttribute_t /*attribute*/, int /*device*/) {
  return failed(hipErrorNotSupported);
}
hipError_t hipDeviceGetPCIBusId(char* /*text*/, int /*bytes*/, int /*device*/) {
  return failed(hipErrorNotSupported);
}

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  *pointer = DeviceMemory::instance().allocate(bytes);
  return *pointer == nullptr ? failed(hipErrorOutOfMemory) : hipSuccess;
}

hipError_t hipFree(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return DeviceMemory::instance().free(pointer) ? hipSuccess : failed(hipErrorInvalidValue);
}

hipError_t hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = DeviceMemory::instance().free_bytes();
  *total_bytes = DeviceMemory::instance().total_bytes();
  return hipSuccess;
}

hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  if (const hipError_t error = wait_for_launches(); error != hipSuccess) return error;
  if (bytes == 0) return hipSuccess;
  DeviceMemory& memory = DeviceMemory::instance();
  const bool to_device = kind != hipMemcpyDeviceToHost;
  const bool from_device = kind != hipMemcpyHostToDevice;
  if ((to_device && !memory.contains(to, bytes)) || (from_device && !memory.contains(from, bytes))) {
    return failed(hipErrorInvalidValue);
  }
  switch (kind) {
    case hipMemcpyHostToDevice:
      memory.copy_from_host(to, from, bytes);
      break;
    case hipMemcpyDeviceToHost:
      std::memcpy(to, from, bytes);
      break;
    case hipMemcpyDeviceToDevice:
      memory.copy(to, from, bytes);
      break;
  }
  return hipSuccess;
}

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t /*stream*/) {
  return hipMemcpy(to, from, bytes, kind);
}

hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  if (bytes == 0) return hipSuccess;
  DeviceMemory& memory = DeviceMemory::instance();
  if (!memory.contains(to, bytes)) return failed(hipErrorInvalidValue);
  memory.set(to, value, bytes);
  return hipSuccess;
}

hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t /*stream*/) {
  return hipMemset(to, value, bytes);
}

hipError_t hipStreamCreate(hipStream_t* stream) {
  *stream = std::make_unique<ihipStream_t>().release();
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  const std::unique_ptr<ihipStream_t> owner(stream);
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t /*stream*/) { return wait_for_launches(); }
hipError_t hipDeviceSynchronize() { return wait_for_launches(); }

hipError_t hipStreamBeginCapture(hipStream_t /*stream*/, hipStreamCaptureMode /*mode*/) {
  return failed(hipErrorNotSupported);
}
hipError_t hipStreamEndCapture(hipStream_t /*stream*/, hipGraph_t* /*graph*/) {
  return failed(hipErrorNotSupported);
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* /*instance*/, hipGraph_t /*graph*/,
                                        unsigned long long /*flags*/) {
  return failed(hipErrorNotSupported);
}
hipError_t hipGraphLaunch(hipGraphExec_t /*instance*/, hipStream_t /*stream*/) {
  return failed(hipErrorNotSupported);
}
hipError_t hipGraphDestroy(hipGraph_t /*graph*/) { return failed(hipErrorNotSupported); }
hipError_t hipGraphExecDestroy(hipGraphExec_t /*instance*/) { return failed(hipErrorNotSupported); }

hipError_t hipEventCreate(hipEvent_t* event) {
  *event = std::make_unique<ihipEvent_t>().release();
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  const std::unique_ptr<ihipEvent_t> owner(event);
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t /*stream*/) {
  event->time = std::chrono::steady_clock::now();
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t /*event*/) { return wait_for_launches(); }
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
  return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute /*attribute*/, int value) {
  if (value < 0 || static_cast<std::size_t>(value) > current_architecture().shared_bytes) {
    return failed(hipErrorInvalidValue);
  }
  shared_memory_limits().set(current_device, function, static_cast<std::size_t>(value));
  return hipSuccess;
}

namespace {

std::string text(const dim3& size) {
  return "(" + std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z) + ")";
}

/// Why the current device cannot launch this; nothing where it can.
std::string refusal(const LaunchShape& shape, const void* function) {
  const Architecture& architecture = current_architecture();
  const auto& [grid, block] = std::tie(shape.grid, shape.block);
  const std::string on = " on " + std::string(architecture.name);
  const std::uint64_t lanes = std::uint64_t{block.x} * block.y * block.z;
  if (block.x == 0 || block.y == 0 || block.z == 0 || block.x > kMaxWorkgroupSize ||
      block.y > kMaxWorkgroupSize || block.z > kMaxWorkgroupSize || lanes > kMaxWorkgroupSize) {
    return on + ": a workgroup of " + text(block) + " lanes; it can have 1 to " +
           std::to_string(kMaxWorkgroupSize);
  }
  constexpr std::uint64_t kMax32 = std::uint64_t{1} << 32;
  const bool too_large = architecture.nvidia
                             ? grid.x > 0x7fffffffu || grid.y > 0xffffu || grid.z > 0xffffu || block.z > 64
                             : std::uint64_t{grid.x} * block.x >= kMax32 ||
                                   std::uint64_t{grid.y} * block.y >= kMax32 ||
                                   std::uint64_t{grid.z} * block.z >= kMax32;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || too_large) {
    return on + ": a grid of " + text(grid) + " workgroups of " + text(block) + " lanes; allowed are 1 to " +
           (architecture.nvidia ? "(2147483647,65535,65535) workgroups of at most 64 lanes in z"
                                : "4294967295 lanes in each dimension");
  }
  if (shape.shared_bytes > architecture.shared_bytes) {
    return on + ": " + std::to_string(shape.shared_bytes) + " bytes of shared memory; a workgroup can have " +
           std::to_string(architecture.shared_bytes);
  }
  if (shape.shared_bytes > architecture.default_shared_bytes &&
      shape.shared_bytes > shared_memory_limits().of(current_device, function)) {
    return on + ": " + std::to_string(shape.shared_bytes) + " bytes of shared memory; over " +
           std::to_string(architecture.default_shared_bytes) +
           " the kernel needs hipFuncSetAttribute(hipFuncAttributeMaxDynamicSharedMemorySize)";
  }
  return {};
}

}  // namespace

void launch_body(const KernelName& kernel, const dim3& grid, const dim3& block, std::size_t shared_bytes,
                 const std::function<void()>& body) {
  LaunchShape shape;
  shape.grid = grid;
  shape.block = block;
  shape.shared_bytes = shared_bytes;
  shape.architecture = &current_architecture();
  if (const std::string why = refusal(shape, kernel.function); !why.empty()) {
    refuse_launch("kernel " + function_name(kernel.function, kernel.text) + why);
    return;
  }
  if (counts_shared_accesses()) shape.counted_banks = &banks_of(current_architecture().name);
  try {
    std::vector<CountedSite> counted;
    const auto failure = run_grid(shape, body, &counted);
    add_shared_accesses(kernel.function, kernel.text, counted);
    if (failure) {
      failure_report = report(function_name(kernel.function, kernel.text),
                              std::string(current_architecture().name), *failure);
      launch_failed = true;
      failed(hipErrorLaunchFailure);
    }
  } catch (const std::bad_alloc&) {
    failed(hipErrorOutOfMemory);
  }
}

}  // namespace hip_emulator
