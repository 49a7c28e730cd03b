// Kernels that fail at a line that tests know.
#pragma once

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

extern const int kLineOfWrite;  // in write_in_a_function
extern const int kLineOfCall;   // of it
__global__ void write_in_a_function(int* data);

/// In each workgroup whose number leaves the remainder 3 by 7, one lane misses the barrier.
__global__ void fail_in_some_workgroups();

}  // namespace fmha_bwd::test_kernels
