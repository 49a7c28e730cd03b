#include "tests/kernels/platform/emulator/dq_dk_dv_mutant.h"

#include <hip/hip_runtime.h>

namespace fmha_bwd {
DroppedBarrier dropped_barrier;
}

#define __syncthreads()                                  \
  (::fmha_bwd::dropped_barrier.is_at(__FILE__, __LINE__) \
       ? void()                                          \
       : ::hip_emulator::__syncthreads(__FILE__, __LINE__))
#include "kernels/plain/dk_dv.hip"
#include "kernels/simt/dq_dk_dv.hip"
