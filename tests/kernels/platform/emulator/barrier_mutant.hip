// Backward stage 2 as it is in the project, but for one barrier.
#include <hip/hip_runtime.h>

#include "tests/kernels/platform/emulator/mutation.h"

#define __syncthreads() \
  (::fmha_bwd::is_left_out(__FILE__, __LINE__) ? void() : ::hip_emulator::__syncthreads(__FILE__, __LINE__))
#include "kernels/plain/dk_dv.hip"
#include "kernels/simt/dq_dk_dv.hip"
