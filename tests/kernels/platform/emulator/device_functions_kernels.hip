#include "tests/kernels/platform/emulator/device_functions_kernels.h"

namespace fmha_bwd::test_kernels {

__global__ void shuffle_numbers(Shuffle kind, int argument, int width, int* out) {
  const int number = 100 + static_cast<int>(threadIdx.x);
  int got = -1;
  if (kind == Shuffle::from) got = __shfl(number, argument, width);
  if (kind == Shuffle::exclusive_or) got = __shfl_xor(number, argument, width);
  if (kind == Shuffle::up) got = __shfl_up(number, static_cast<unsigned>(argument), width);
  if (kind == Shuffle::down) got = __shfl_down(number, static_cast<unsigned>(argument), width);
  out[threadIdx.x] = got;
}

__global__ void shuffle_numbers_in_wave(Shuffle kind, int argument, int* out) {
  const int number = 100 + static_cast<int>(threadIdx.x);
  int got = -1;
  if (kind == Shuffle::from) got = __shfl(number, argument);
  if (kind == Shuffle::exclusive_or) got = __shfl_xor(number, argument);
  if (kind == Shuffle::up) got = __shfl_up(number, static_cast<unsigned>(argument));
  if (kind == Shuffle::down) got = __shfl_down(number, static_cast<unsigned>(argument));
  out[threadIdx.x] = got;
}

AllTypes value_of(int thread) {
  const long long wide = (static_cast<long long>(thread) << 40) - 5;
  return {-thread, 0x80000000u + static_cast<unsigned>(thread), static_cast<float>(thread) * 0.1F,
          wide,    ~static_cast<unsigned long long>(wide),      static_cast<double>(thread) * 0.1};
}

__global__ void shuffle_all_types(AllTypes* out) {
  const AllTypes mine = value_of(static_cast<int>(threadIdx.x));
  out[threadIdx.x] = {__shfl_down(mine.i, 1u),  __shfl_down(mine.u, 1u),   __shfl_down(mine.f, 1u),
                      __shfl_down(mine.ll, 1u), __shfl_down(mine.ull, 1u), __shfl_down(mine.d, 1u)};
}

__global__ void vote(unsigned long long predicates, Votes* out) {
  const int predicate = (predicates >> (threadIdx.x % 64) & 1) != 0 ? 42 : 0;
  const unsigned long long ballot = __ballot(predicate);
  const int any = __any(predicate);
  out[threadIdx.x] = {ballot, any, __all(predicate)};
}

__global__ void count(Counters* counters) {
  const int number = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&counters->sum, 0.25F);
  unsafeAtomicAdd(&counters->sum, 0.25F);
  atomicAdd(&counters->signed_sum, -number);
  atomicAdd(&counters->count, 1u);
  atomicAdd(&counters->wide, 1ull << 33);
  atomicMax(&counters->largest, number - 1000);
  atomicMin(&counters->smallest, number - 1000);
}

__global__ void take_tickets(unsigned* counter, int* taken) {
  atomicAdd(&taken[atomicAdd(counter, 1u)], 1);
  __threadfence();
}

__global__ void count_in_shared_memory(int* out) {
  HIP_DYNAMIC_SHARED(int, counter)
  if (threadIdx.x == 0) *counter = 0;
  __syncthreads();
  atomicAdd(counter, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = *counter;
}

}  // namespace fmha_bwd::test_kernels
