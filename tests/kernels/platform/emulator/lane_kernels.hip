#include "tests/kernels/platform/emulator/lane_kernels.h"

namespace fmha_bwd::test_kernels {

__global__ void write_indices(Indices* out) {
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[block * threads + thread] = {{threadIdx.x, threadIdx.y, threadIdx.z},
                                   {blockIdx.x, blockIdx.y, blockIdx.z},
                                   {blockDim.x, blockDim.y, blockDim.z},
                                   {gridDim.x, gridDim.y, gridDim.z}};
}

__global__ void reverse(const int* in, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  const unsigned first = blockIdx.x * blockDim.x;
  shared[threadIdx.x] = in[first + threadIdx.x];
  __syncthreads();
  out[first + threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void rotate_a_hundred_times(int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  int sum = 0;
  for (unsigned round = 0; round < 100; ++round) {
    shared[threadIdx.x] = static_cast<int>(threadIdx.x * round);
    __syncthreads();
    sum += shared[(threadIdx.x + round) % blockDim.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void waves_go_their_own_ways(int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  const int wave = static_cast<int>(threadIdx.x) / warpSize;
  int count = 0;
  for (int i = 0; i < 10 * wave; ++i) count = __shfl(count + 1, 0);
  if (lane == 0) shared[wave] = count;
  __syncthreads();
  const int waves = static_cast<int>(blockDim.x) / warpSize;
  out[threadIdx.x] = shared[waves - 1 - wave];
}

__global__ void only_wave_0_shuffles(int rounds, int* out) {
  int done = 0;
  if (static_cast<int>(threadIdx.x) < warpSize) {
    for (int i = 0; i < rounds; ++i) done += __shfl_xor(1, 1);
  }
  out[threadIdx.x] = done;
}

__global__ void note_turns(unsigned* counter, unsigned* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1u);
}

__global__ void do_nothing() {}

__global__ void fail_in_workgroup(unsigned workgroup, int* ended) {
  if (blockIdx.x == workgroup && threadIdx.x == 1) return;
  __syncthreads();
  if (threadIdx.x == 0) ended[blockIdx.x] = 1;
}

const int two_barriers_lines[2] = {__LINE__ + 4, __LINE__ + 6};

__global__ void two_barriers(int first_lanes) {
  if (static_cast<int>(threadIdx.x) < first_lanes) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void barrier_after_exit(int lanes_that_stay) {
  if (static_cast<int>(threadIdx.x) >= lanes_that_stay) return;
  __syncthreads();
}

__global__ void barriers_in_a_loop_of_own_length() {
  for (unsigned i = 0; i <= threadIdx.x / 100; ++i) __syncthreads();
}

__global__ void shuffle_after_exit(int lanes_that_stay) {
  if (static_cast<int>(threadIdx.x) >= lanes_that_stay) return;
  static_cast<void>(__shfl_xor(1.0F, 1));
}

__global__ void two_shuffles(int first_lanes) {
  if (static_cast<int>(threadIdx.x) < first_lanes) {
    static_cast<void>(__shfl_xor(1, 1));
  } else {
    static_cast<void>(__shfl_xor(1, 1));
  }
}

__global__ void shuffle_and_ballot(int first_lanes) {
  if (static_cast<int>(threadIdx.x) < first_lanes) {
    static_cast<void>(__shfl_down(1, 1u));
  } else {
    static_cast<void>(__ballot(1));
  }
}

const int barrier_or_shuffle_lines[2] = {__LINE__ + 4, __LINE__ + 6};

__global__ void barrier_or_shuffle(int lanes_at_the_barrier) {
  if (static_cast<int>(threadIdx.x) < lanes_at_the_barrier) {
    __syncthreads();
  } else {
    static_cast<void>(__shfl(1, 0));
  }
}

}  // namespace fmha_bwd::test_kernels
