// Warpgroups: four warps that issue matrix products together, and share out the registers of a block among
// them.
#pragma once

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

inline constexpr int kWarpgroup = 128;

/// The thread's place in its warpgroup, read anew: a value that is seldom used need not hold a register
/// meanwhile.
__device__ __forceinline__ int thread_of_warpgroup() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread & (kWarpgroup - 1);
}

/// What the loading thread has written to `place` in shared memory. A warp reads it, and its lane 0 tells the
/// loading thread so after a __syncwarp, which compute-sanitizer's racecheck does not see where the warp is
/// known to be together. In builds for racecheck (FMHA_BWD_RACECHECK) lane 0 alone reads.
#ifdef FMHA_BWD_RACECHECK
template <class T>
__device__ __forceinline__ T read_of_loader(const T& place) {
  static_assert(sizeof(T) % sizeof(int) == 0);
  T value = {};
  if (thread_of_warpgroup() % 32 == 0) value = place;
  auto* const words = reinterpret_cast<int*>(&value);
  for (unsigned i = 0; i < sizeof(T) / sizeof(int); ++i) words[i] = __shfl_sync(0xffffffffU, words[i], 0);
  return value;
}
#else
template <class T>
__device__ __forceinline__ const T& read_of_loader(const T& place) {
  return place;
}
#endif

/// Every thread of a warpgroup gets kRegisters registers, from the block's pool or back to it. kRegisters is
/// a multiple of 8; taking waits until the pool has them.
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// Barrier kId (1 to 15; 0 is __syncthreads) for kThreads threads of the block.
template <int kThreads, int kId>
__device__ __forceinline__ void named_barrier() {
  asm volatile("bar.sync %0, %1;" ::"n"(kId), "n"(kThreads) : "memory");
}

/// Like named_barrier, for threads that don't wait for the others.
template <int kThreads, int kId>
__device__ __forceinline__ void named_barrier_arrive() {
  asm volatile("bar.arrive %0, %1;" ::"n"(kId), "n"(kThreads) : "memory");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
