// Kernels whose copies and loops compilers turn into calls of memcpy and memset.
#pragma once

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

struct Row {
  float elements[8];
};
/// Lane i copies row i through shared memory, which has a Row for each lane: by assignment and by
/// std::memcpy.
__global__ void copy_rows(const Row* from, Row* to);

/// Lane 0 zeroes `count` integers of shared memory and copies as many of `from` behind them; then each lane
/// adds up all of both.
__global__ void clear_and_copy_by_one_lane(const int* from, int count, int* sums);

}  // namespace fmha_bwd::test_kernels
