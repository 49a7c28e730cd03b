#include "tests/kernels/platform/emulator/copy_async_kernels.h"

#include <cstddef>

namespace fmha_bwd::test_kernels {

__global__ void copy_two_groups(const uint4* values, SeenByLane* seen) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  const unsigned i = threadIdx.x;
  const unsigned n = blockDim.x;
  shared[i] = make_uint4(7, 7, 7, 7);
  shared[i + n] = make_uint4(8, 8, 8, 8);
  copy_async(&shared[i], &values[i], true);
  copy_async_commit();
  copy_async(&shared[i + n], &values[i + n], true);
  copy_async_commit();
  SeenByLane& own = seen[blockIdx.x * n + i];
  own.committed = {shared[i].x, shared[i + n].x};
  copy_async_wait<1>();
  own.but_one = {shared[i].x, shared[i + n].x};
  copy_async_wait<0>();
  own.all = {shared[i].x, shared[i + n].x};
}

__global__ void wait_before_commit(const uint4* values, Seen* seen) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  const unsigned i = threadIdx.x;
  shared[i] = make_uint4(7, 7, 7, 7);
  copy_async(&shared[i], &values[i], true);
  copy_async_wait<0>();
  seen[i].first = shared[i].x;
  copy_async_commit();
  copy_async_wait<0>();
  seen[i].second = shared[i].x;
}

__global__ void copy_where_exists(const uint4* values, const int* exists, uint4* copies) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  const unsigned i = threadIdx.x;
  const bool here = exists[i] != 0;
  copy_async(&shared[i], here ? &values[i] : nullptr, here);
  copy_async_commit();
  copy_async_wait<0>();
  copies[i] = shared[i];
}

__global__ void copy_for_neighbour(const uint4* values, bool barrier, std::uint32_t* out) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  const unsigned i = threadIdx.x;
  shared[i] = make_uint4(7, 7, 7, 7);
  __syncthreads();
  copy_async(&shared[i], &values[i], true);
  copy_async_commit();
  copy_async_wait<0>();
  if (barrier) __syncthreads();
  out[i] = shared[i ^ 1].x;
}

__global__ void copy_and_read(const uint4* values, bool before, std::uint32_t* out) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  const unsigned i = threadIdx.x;
  copy_async(&shared[i], &values[i], true);
  copy_async_commit();
  if (before) out[i] = shared[i].x;
  copy_async_wait<0>();
  out[i] = shared[i].x;
}

__global__ void copy_between(const void* from, int shared_offset) {
  HIP_DYNAMIC_SHARED(std::byte, shared)
  copy_async(shared + shared_offset, from, true);
  copy_async_commit();
  copy_async_wait<0>();
}

__global__ void copy_from_shared() {
  HIP_DYNAMIC_SHARED(uint4, shared)
  copy_async(shared, shared + 1, true);
}

__global__ void copy_to_device(const uint4* values, uint4* copies) { copy_async(copies, values, true); }

__global__ void leave_copy_under_way(const uint4* values, bool commit) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  if (threadIdx.x != 0) return;
  copy_async(shared, values, true);
  if (commit) copy_async_commit();
}

__global__ void read_then_copy(const uint4* values, std::uint32_t* out) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  const unsigned i = threadIdx.x;
  shared[i] = make_uint4(7, 7, 7, 7);
  __syncthreads();
  out[i] = shared[i ^ 1].x;
  copy_async(&shared[i], &values[i], true);
  copy_async_commit();
  __syncthreads();
  copy_async_wait<0>();
}

}  // namespace fmha_bwd::test_kernels
