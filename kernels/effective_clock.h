// The clock that the multiprocessors really ran at: their own cycle counters over the nanoseconds between two
// readings. A vendor's library gives the clock of a moment, up to a power controller's period late and in
// steps of 15 MHz; this is the average over exactly what was timed.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

#ifdef __HIP_PLATFORM_NVIDIA__

/// Of one multiprocessor, whose counters start anywhere; all zeros where it was not read.
struct ClockCounters {
  unsigned long long cycles = 0;
  unsigned long long nanoseconds = 0;
};

/// Writes counters[multiprocessor] for those below `slots`.
static __global__ void read_counters(ClockCounters* counters, unsigned slots) {
  unsigned multiprocessor = 0;
  unsigned long long nanoseconds = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  if (multiprocessor < slots) {
    counters[multiprocessor] = {static_cast<unsigned long long>(clock64()), nanoseconds};
  }
}

class EffectiveClock {
 public:
  /// Of the current device.
  explicit EffectiveClock(const Stream& stream)
      : stream_(stream), before_(multiprocessors()), now_(before_.size()), device_(bytes()) {
    FMHA_BWD_HIP(hipMemsetAsync(device_.data(), 0, bytes(), stream));
  }

  /// MHz, on average since the last call; the median over the multiprocessors. Waits for the device. Nothing
  /// at the first call, or where a millisecond has not passed: the timer's steps are up to a microsecond.
  std::optional<double> since_last() {
    const auto slots = static_cast<unsigned>(before_.size());
    auto* counters = static_cast<ClockCounters*>(device_.data());
    hipLaunchKernelGGL(read_counters, dim3(slots), dim3(1), 0, stream_, counters, slots);
    check_launch("read_counters");
    std::swap(before_, now_);
    FMHA_BWD_HIP(hipMemcpyAsync(now_.data(), counters, bytes(), hipMemcpyDeviceToHost, stream_));
    stream_.synchronize();
    std::vector<double> clocks;
    for (std::size_t i = 0; i < now_.size(); ++i) {
      const unsigned long long nanoseconds = now_[i].nanoseconds - before_[i].nanoseconds;
      if (before_[i].nanoseconds == 0 || nanoseconds < kLeastNanoseconds) continue;
      clocks.push_back(1e3 * static_cast<double>(now_[i].cycles - before_[i].cycles) /
                       static_cast<double>(nanoseconds));
    }
    if (clocks.empty()) return std::nullopt;
    const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
    std::nth_element(clocks.begin(), middle, clocks.end());
    return *middle;
  }

 private:
  static constexpr unsigned long long kLeastNanoseconds = 1'000'000;

  static std::size_t multiprocessors() {
    int device = 0;
    int count = 0;
    FMHA_BWD_HIP(hipGetDevice(&device));
    FMHA_BWD_HIP(hipDeviceGetAttribute(&count, hipDeviceAttributeMultiprocessorCount, device));
    return static_cast<std::size_t>(count);
  }
  std::size_t bytes() const { return before_.size() * sizeof(ClockCounters); }

  const Stream& stream_;
  std::vector<ClockCounters> before_;
  std::vector<ClockCounters> now_;
  DeviceBuffer device_;
};

#else

/// Unknown: AMD's shader clock is not a counter that every architecture has, and the emulator has none.
class EffectiveClock {
 public:
  explicit EffectiveClock(const Stream& /*stream*/) {}
  std::optional<double> since_last() const { return std::nullopt; }
};

#endif

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
