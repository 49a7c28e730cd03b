#include "kernels/platform/emulator/runtime_api.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/platform/emulator/architecture.h"
#include "kernels/platform/emulator/device_memory.h"
#include "kernels/platform/emulator/launch.h"

namespace hip_emulator {

struct Stream {};
struct Event {
  std::chrono::steady_clock::time_point time;
};

namespace {

thread_local int current_device = 0;
thread_local hipError_t last_error = hipSuccess;
thread_local std::string launch_report;

hipError_t failed(hipError_t error) {
  last_error = error;
  return error;
}

hipError_t launch_failed(hipError_t error, const std::string& report) {
  launch_report = report;
  return failed(error);
}

const Architecture& current_architecture() {
  return kArchitectures[static_cast<std::size_t>(current_device)];
}

bool is_device(int device) { return device >= 0 && device < static_cast<int>(kArchitectures.size()); }

}  // namespace

const char* hipGetErrorString(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "no error";
    case hipErrorInvalidValue:
      return "invalid value";
    case hipErrorOutOfMemory:
      return "out of memory";
    case hipErrorInvalidDevice:
      return "invalid device";
    case hipErrorInvalidConfiguration:
    case hipErrorLaunchFailure:
      return launch_report.c_str();
  }
  return "unknown error";
}

hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }

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
  if (bytes == 0) return hipSuccess;
  DeviceMemory& memory = DeviceMemory::instance();
  const bool to_device = kind != hipMemcpyDeviceToHost;
  const bool from_device = kind != hipMemcpyHostToDevice;
  if ((to_device && !memory.contains(to, bytes)) || (from_device && !memory.contains(from, bytes))) {
    return failed(hipErrorInvalidValue);
  }
  std::memmove(to, from, bytes);
  if (to_device) memory.mark_written(to, bytes);
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
  std::memset(to, value, bytes);
  memory.mark_written(to, bytes);
  return hipSuccess;
}

hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t /*stream*/) {
  return hipMemset(to, value, bytes);
}

hipError_t hipStreamCreate(hipStream_t* stream) {
  *stream = std::make_unique<Stream>().release();
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  const std::unique_ptr<Stream> owner(stream);
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t /*stream*/) { return hipGetLastError(); }
hipError_t hipDeviceSynchronize() { return hipGetLastError(); }

hipError_t hipEventCreate(hipEvent_t* event) {
  *event = std::make_unique<Event>().release();
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  const std::unique_ptr<Event> owner(event);
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t /*stream*/) {
  event->time = std::chrono::steady_clock::now();
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t /*event*/) { return hipSuccess; }
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
  return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void* /*function*/, hipFuncAttribute /*attribute*/, int /*value*/) {
  return hipSuccess;
}

void launch_body(const char* kernel, const dim3& grid, const dim3& block, std::size_t shared_bytes,
                 const std::function<void()>& body) {
  const Architecture& architecture = current_architecture();
  const std::string arch(architecture.name);
  const std::uint64_t lanes = std::uint64_t{block.x} * block.y * block.z;
  const std::uint64_t workgroups = std::uint64_t{grid.x} * grid.y * grid.z;
  if (lanes == 0 || lanes > static_cast<std::uint64_t>(kMaxWorkgroupSize) || workgroups == 0) {
    launch_failed(hipErrorInvalidConfiguration,
                  "kernel " + std::string(kernel) + ": " + std::to_string(workgroups) + " workgroups of " +
                      std::to_string(lanes) + " lanes; allowed are 1.." + std::to_string(kMaxWorkgroupSize) +
                      " lanes in 1 workgroup or more");
    return;
  }
  if (shared_bytes > architecture.shared_bytes) {
    launch_failed(hipErrorInvalidConfiguration, "kernel " + std::string(kernel) + ": " +
                                                    std::to_string(shared_bytes) +
                                                    " bytes of shared memory; " + arch + " has " +
                                                    std::to_string(architecture.shared_bytes));
    return;
  }
  LaunchShape shape;
  shape.grid = grid;
  shape.block = block;
  shape.shared_bytes = shared_bytes;
  shape.wave_size = architecture.wave_size;
  if (const auto failure = run_grid(shape, body)) {
    launch_failed(hipErrorLaunchFailure, "kernel " + std::string(kernel) + " on " + arch + ", " + *failure);
  }
}

}  // namespace hip_emulator
