#include "tests/kernels/platform/emulator/string_functions_kernels.h"

#include <cstring>

namespace fmha_bwd::test_kernels {

__global__ void copy_rows(const Row* from, Row* to) {
  HIP_DYNAMIC_SHARED(Row, rows)
  rows[threadIdx.x] = from[threadIdx.x];
  Row row;
  std::memcpy(&row, &rows[threadIdx.x], sizeof(row));
  to[threadIdx.x] = row;
}

__global__ void clear_and_copy_by_one_lane(const int* from, int count, int* sums) {
  HIP_DYNAMIC_SHARED(int, shared)
  if (threadIdx.x == 0) {
    for (int i = 0; i < count; ++i) shared[i] = 0;
    for (int i = 0; i < count; ++i) shared[count + i] = from[i];
  }
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 2 * count; ++i) sum += shared[i];
  sums[threadIdx.x] = sum;
}

}  // namespace fmha_bwd::test_kernels
