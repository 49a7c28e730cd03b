// Backward stage 2 as it is in the project, but for one barrier.
#pragma once

#include <atomic>

namespace fmha_bwd {

/// The line in kernels/simt/dq_dk_dv.hip of the __syncthreads() that is left out; 0: none is.
extern std::atomic<int> dropped_barrier;

}  // namespace fmha_bwd
