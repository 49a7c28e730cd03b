#include "tests/kernels/platform/emulator/shared_memory_kernels.h"

namespace fmha_bwd::test_kernels {
namespace {

template <class T>
T* at(std::byte* memory, std::ptrdiff_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

}  // namespace

__global__ void read_shared(std::ptrdiff_t offset, int bytes, int filled, unsigned* out) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  for (int i = static_cast<int>(threadIdx.x); i < filled; i += static_cast<int>(blockDim.x)) {
    shared[i] = static_cast<std::byte>(i);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (bytes == 1) out[0] = *at<std::uint8_t>(shared, offset);
  if (bytes == 2) out[0] = *at<std::uint16_t>(shared, offset);
  if (bytes == 4) out[0] = *at<unsigned>(shared, offset);
  if (bytes == 8) *reinterpret_cast<std::uint64_t*>(out) = *at<std::uint64_t>(shared, offset);
  if (bytes == 16) *reinterpret_cast<uint4*>(out) = *at<uint4>(shared, offset);
}

__global__ void write_shared(std::ptrdiff_t offset, int bytes) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  if (threadIdx.x != 0) return;
  if (bytes == 1) *at<std::uint8_t>(shared, offset) = 1;
  if (bytes == 2) *at<std::uint16_t>(shared, offset) = 1;
  if (bytes == 4) *at<unsigned>(shared, offset) = 1;
  if (bytes == 8) *at<std::uint64_t>(shared, offset) = 1;
  if (bytes == 16) *at<uint4>(shared, offset) = {1, 1, 1, 1};
}

__global__ void add_to_shared(std::ptrdiff_t offset) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  if (threadIdx.x == 0) atomicAdd(at<int>(shared, offset), 1);
}

__global__ void read_what_another_workgroup_wrote(int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  if (blockIdx.x == 0) shared[threadIdx.x] = 1;
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[threadIdx.x];
}

__global__ void sum_even_elements(int count, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  if (threadIdx.x == 0) {
    for (int i = 0; i < count; i += 2) shared[i] = i;
  }
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < count; i += 2) sum += shared[i];
  out[threadIdx.x] = sum;
}

__global__ void neighbour_after_nothing(unsigned distance, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  shared[threadIdx.x] = -1;
  __syncthreads();
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = shared[(threadIdx.x + distance) % blockDim.x];
}

__global__ void neighbour_after_barrier(unsigned distance, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  shared[threadIdx.x] = -1;
  __syncthreads();
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = shared[(threadIdx.x + distance) % blockDim.x];
}

__global__ void neighbour_after_shuffle(unsigned distance, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  shared[threadIdx.x] = -1;
  __syncthreads();
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  static_cast<void>(__shfl(0, 0));
  out[threadIdx.x] = shared[(threadIdx.x + distance) % blockDim.x];
}

__global__ void neighbour_after_vote(unsigned distance, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  shared[threadIdx.x] = -1;
  __syncthreads();
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  static_cast<void>(__all(1));
  out[threadIdx.x] = shared[(threadIdx.x + distance) % blockDim.x];
}

__global__ void write_after_read(unsigned writer, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  if (threadIdx.x == 0) *shared = 5;
  __syncthreads();
  out[threadIdx.x] = *shared;
  if (threadIdx.x == writer) *shared = 6;
}

__global__ void write_after_read_and_barrier(unsigned writer, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  if (threadIdx.x == 0) *shared = 5;
  __syncthreads();
  out[threadIdx.x] = *shared;
  __syncthreads();
  if (threadIdx.x == writer) *shared = 6;
}

__global__ void shuffle_that_orders_another_wave(int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  if (threadIdx.x == 0) *shared = 5;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= warpSize) {
    out[threadIdx.x] = *shared;
  } else {
    static_cast<void>(__shfl(0, 0));
    if (threadIdx.x == 3) *shared = 6;
  }
}

__global__ void write_twice(unsigned first, unsigned second) {
  HIP_DYNAMIC_SHARED(int, shared)
  if (threadIdx.x == first || threadIdx.x == second) shared[1] = 7;
}

__global__ void write_parts_of_words(std::uint8_t* bytes, std::uint16_t* halves) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  auto* const shared_bytes = reinterpret_cast<std::uint8_t*>(shared);
  auto* const shared_halves = reinterpret_cast<std::uint16_t*>(shared + blockDim.x);
  shared_bytes[threadIdx.x] = static_cast<std::uint8_t>(threadIdx.x);
  bytes[threadIdx.x] = shared_bytes[threadIdx.x];
  shared_halves[threadIdx.x] = static_cast<std::uint16_t>(threadIdx.x);
  halves[threadIdx.x] = shared_halves[threadIdx.x];
}

__global__ void read_half_of_a_word(unsigned whose, int* out) {
  HIP_DYNAMIC_SHARED(std::uint16_t, shared)
  if (threadIdx.x < 2) shared[threadIdx.x] = 7;
  if (threadIdx.x == 2) *out = shared[whose];
}

__global__ void write_same_bytes() {
  HIP_DYNAMIC_SHARED(std::uint8_t, shared)
  shared[threadIdx.x / 2] = 1;
}

__global__ void read_bytes_at_different_times(int* out) {
  HIP_DYNAMIC_SHARED(std::uint8_t, shared)
  if (threadIdx.x < 4) shared[threadIdx.x] = 1;
  __syncthreads();
  int sum = 0;
  if (threadIdx.x == 0) sum += shared[0];
  static_cast<void>(__shfl(0, 0));
  if (threadIdx.x == 0) sum += shared[1];
  if (threadIdx.x == 1) shared[0] = 2;
  out[threadIdx.x] = sum;
}

__global__ void atomics_then_read(unsigned reader, bool barrier, int* out) {
  HIP_DYNAMIC_SHARED(int, counter)
  if (threadIdx.x == 0) *counter = 0;
  __syncthreads();
  atomicAdd(counter, 1);
  if (barrier) __syncthreads();
  if (threadIdx.x == reader) out[0] = *counter;
}

__global__ void atomics_and_write(unsigned writer) {
  HIP_DYNAMIC_SHARED(int, counter)
  if (threadIdx.x == 0) *counter = 0;
  __syncthreads();
  if (threadIdx.x == writer) {
    *counter = 1;
  } else {
    atomicAdd(counter, 1);
  }
}

}  // namespace fmha_bwd::test_kernels
