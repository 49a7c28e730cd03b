// A spin behind each timed pass, of a share of the pass's time: proof that a slower build is found. Only in
// test builds, configured with FMHA_BWD_TEST_SLOWDOWN (0.03 is 3 %); elsewhere nothing.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <limits>

#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

#ifdef FMHA_BWD_TEST_SLOWDOWN

static __global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

class Slowdown {
 public:
  /// `time_pass` gives the milliseconds of a pass.
  template <class TimePass>
  void calibrate(const TimePass& time_pass, const Stream& stream) {
    constexpr long long kCycles = 2'000'000;
    constexpr int kTries = 15;
    Event start;
    Event stop;
    double pass = std::numeric_limits<double>::infinity();
    double spun = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
      pass = std::min(pass, time_pass());
      start.record(stream);
      hipLaunchKernelGGL(spin, dim3(1), dim3(1), 0, stream, kCycles);
      check_launch("spin");
      stop.record(stream);
      stream.synchronize();
      spun = std::min(spun, stop.since(start));
    }
    cycles_ = static_cast<long long>(FMHA_BWD_TEST_SLOWDOWN * pass / spun * kCycles);
  }

  void enqueue(hipStream_t stream) const {
    if (cycles_ == 0) return;
    hipLaunchKernelGGL(spin, dim3(1), dim3(1), 0, stream, cycles_);
    check_launch("spin");
  }

 private:
  long long cycles_ = 0;
};

#else

class Slowdown {
 public:
  template <class TimePass>
  void calibrate(const TimePass& /*time_pass*/, const Stream& /*stream*/) const {}
  void enqueue(hipStream_t /*stream*/) const {}
};

#endif

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
