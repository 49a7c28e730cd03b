// Checked HIP calls, and owners for what HIP allocates.
#pragma once

#include <hip/hip_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include "base/error.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// Throws Error (device_error) naming `call` unless `status` is success.
inline void check(hipError_t status, const char* call) {
  if (status == hipSuccess) return;
  static_cast<void>(hipGetLastError());  // or the next launch would be blamed
  throw Error(ExitCode::device_error, std::string(call) + ": " + hipGetErrorString(status));
}

/// `check` for a HIP call, with its own text in the message.
#define FMHA_BWD_HIP(call) ::fmha_bwd::FMHA_BWD_PLATFORM::check((call), #call)

/// Throws unless the launch of `kernel` just before could start.
inline void check_launch(const char* kernel) { check(hipGetLastError(), kernel); }

/// "1.50 GiB", or in MiB below one.
inline std::string memory_text(std::size_t bytes) {
  const bool small = bytes < (std::size_t{1} << 30);
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%.2f %s", static_cast<double>(bytes) * (small ? 0x1p-20 : 0x1p-30),
                small ? "MiB" : "GiB");
  return text.data();
}

/// Bytes of the selected device.
struct MemoryState {
  std::size_t free = 0;
  std::size_t total = 0;
};

inline MemoryState memory_state() {
  MemoryState memory;
  FMHA_BWD_HIP(hipMemGetInfo(&memory.free, &memory.total));
  return memory;
}

/// That `subject` needs `bytes`, which are not free.
inline Error out_of_memory(const std::string& subject, std::size_t bytes, const MemoryState& memory) {
  return {ExitCode::device_error, "out of device memory: " + subject + " needs " + memory_text(bytes) + ", " +
                                      memory_text(memory.free) + " of " + memory_text(memory.total) +
                                      " are free"};
}

/// Bytes of device memory.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Throws Error (device_error) that says how much was needed and how much is free where it does not fit.
  explicit DeviceBuffer(std::size_t bytes) {
    const hipError_t status = hipMalloc(&data_, bytes);
    if (status != hipErrorOutOfMemory) {
      check(status, "hipMalloc");
      return;
    }
    static_cast<void>(hipGetLastError());
    throw out_of_memory("a tensor", bytes, memory_state());
  }
  ~DeviceBuffer() { static_cast<void>(hipFree(data_)); }
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { FMHA_BWD_HIP(hipStreamCreate(&stream_)); }
  ~Stream() { static_cast<void>(hipStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator hipStream_t() const { return stream_; }
  /// Waits for all work so far; reports what went wrong in it.
  void synchronize() const { FMHA_BWD_HIP(hipStreamSynchronize(stream_)); }

 private:
  hipStream_t stream_ = nullptr;
};

/// A point in a stream's work whose time the device notes.
class Event {
 public:
  Event() { FMHA_BWD_HIP(hipEventCreate(&event_)); }
  ~Event() { static_cast<void>(hipEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(hipStream_t stream) const { FMHA_BWD_HIP(hipEventRecord(event_, stream)); }
  /// Milliseconds from `earlier` to this event; both have happened.
  double since(const Event& earlier) const {
    float milliseconds = 0.0F;
    FMHA_BWD_HIP(hipEventElapsedTime(&milliseconds, earlier.event_, event_));
    return static_cast<double>(milliseconds);
  }

 private:
  hipEvent_t event_ = nullptr;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
