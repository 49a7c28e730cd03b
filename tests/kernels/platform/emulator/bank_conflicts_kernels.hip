#include "tests/kernels/platform/emulator/bank_conflicts_kernels.h"

namespace fmha_bwd::test_kernels {

__device__ void fill(std::byte* memory, int filled) {
  for (int i = static_cast<int>(threadIdx.x); i < filled; i += static_cast<int>(blockDim.x)) {
    memory[i] = static_cast<std::byte>(i);
  }
  __syncthreads();
}

const int kLineOfReadAt = __LINE__ + 8;

template <class T>
__global__ void read_at(const int* offsets, int filled, T* out) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  fill(shared, filled);
  const int offset = offsets[threadIdx.x];
  if (offset < 0) return;
  out[threadIdx.x] = *reinterpret_cast<const T*>(shared + offset);
}
template __global__ void read_at(const int*, int, std::uint8_t*);
template __global__ void read_at(const int*, int, unsigned*);
template __global__ void read_at(const int*, int, std::uint64_t*);
template __global__ void read_at(const int*, int, Wide*);
template __global__ void read_at(const int*, int, float4*);

template <class T>
__global__ void write_at(const int* offsets) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  const int offset = offsets[threadIdx.x];
  if (offset >= 0) *reinterpret_cast<T*>(shared + offset) = T{};
}
template __global__ void write_at<unsigned>(const int*);
template __global__ void write_at<Wide>(const int*);

__global__ void add_at(const int* offsets, int filled) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  fill(shared, filled);
  atomicAdd(reinterpret_cast<int*>(shared + offsets[threadIdx.x]), 1);
}

__global__ void copy_at(const int* offsets, int filled, int bytes, std::uint8_t* out) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  fill(shared, filled);
  std::memcpy(out + static_cast<int>(threadIdx.x) * bytes, shared + offsets[threadIdx.x],
              static_cast<std::size_t>(bytes));
}

__global__ void read_in_a_loop(const int* offsets, const int* times, int filled, int* out) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  fill(shared, filled);
  const volatile int* const word = reinterpret_cast<int*>(shared + offsets[threadIdx.x]);
  int sum = 0;
  for (int i = 0; i < times[threadIdx.x]; ++i) sum += *word;
  out[threadIdx.x] = sum;
}

__global__ void read_around_a_barrier(const int* offsets, int filled, int* out) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  fill(shared, filled);
  for (unsigned i = 0; i < 2; ++i) {
    if (threadIdx.x % 2 == i) out[threadIdx.x] = *reinterpret_cast<int*>(shared + offsets[threadIdx.x]);
    __syncthreads();
  }
}

__global__ void read_around_a_shuffle(const int* offsets, int filled, int* out) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  fill(shared, filled);
  for (unsigned i = 0; i < 2; ++i) {
    if (threadIdx.x % 2 == i) out[threadIdx.x] = *reinterpret_cast<int*>(shared + offsets[threadIdx.x]);
    static_cast<void>(__shfl(0, 0));
  }
}

__global__ void write_well_but_in_one() {
  HIP_DYNAMIC_SHARED(int, shared)
  shared[threadIdx.x] = 1;
  if (blockIdx.x == 1) shared[1 << 13] = 1;
}

}  // namespace fmha_bwd::test_kernels
