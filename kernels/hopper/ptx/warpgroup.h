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

/// Whether a lane arrives at a barrier for its warp, after a __syncwarp, and how many of a warp do: lane 0
/// alone. Where the compiler knows that the warp is together __syncwarp is no instruction, and
/// compute-sanitizer's racecheck does not see that the other lanes have read what lane 0 then says may be
/// overwritten. In builds for racecheck (FMHA_BWD_RACECHECK) every lane arrives.
#ifdef FMHA_BWD_RACECHECK
inline constexpr unsigned kArrivals = 32;
__device__ __forceinline__ bool arrives(int /*lane*/) { return true; }
#else
inline constexpr unsigned kArrivals = 1;
__device__ __forceinline__ bool arrives(int lane) { return lane == 0; }
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
