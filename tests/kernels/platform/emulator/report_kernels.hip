#include "tests/kernels/platform/emulator/report_kernels.h"

namespace fmha_bwd::test_kernels {

const int kLineOfWrite = __LINE__ + 1;
__device__ __forceinline__ void write_one(int* data) { *data = 1; }

const int kLineOfCall = __LINE__ + 1;
__global__ void write_in_a_function(int* data) { write_one(data); }

__global__ void fail_in_some_workgroups() {
  if (blockIdx.x % 7 == 3 && threadIdx.x == blockIdx.x) return;
  __syncthreads();
}

}  // namespace fmha_bwd::test_kernels
