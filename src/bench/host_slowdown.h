// As kernels/slowdown.h, on the host: in test builds a spin of a share of each pass's time.
#pragma once

#include <chrono>

namespace fmha_bwd {

inline void slow_down([[maybe_unused]] std::chrono::steady_clock::duration pass) {
#ifdef FMHA_BWD_TEST_SLOWDOWN
  const auto end =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(pass * FMHA_BWD_TEST_SLOWDOWN);
  while (std::chrono::steady_clock::now() < end) {
  }
#endif
}

}  // namespace fmha_bwd
