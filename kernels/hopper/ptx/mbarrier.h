// Barriers in shared memory that count arrivals of threads and bytes of the copy engine (PTX ISA,
// "mbarrier").
//
// A barrier goes through phases 0, 1, 0, 1...: a phase ends when the expected number of arrivals and bytes
// has come. A waiter names the parity of the phase whose end it waits for; waiting for parity 1 on a fresh
// barrier returns at once.
#pragma once

#include <cstdint>

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

using Barrier = std::uint64_t;

/// The 32-bit address of `pointer` in the shared window, as PTX operands want it.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Each phase waits for `arrivals` arrivals. One thread does it, then fence_barrier_init, then a block-wide
/// barrier.
__device__ __forceinline__ void barrier_init(Barrier& barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals)
               : "memory");
}

/// Makes initialised barriers known to the copy engine.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// One arrival; what the thread wrote before is seen by those who waited.
__device__ __forceinline__ void barrier_arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

/// One arrival, and `bytes` more bytes that the copy engine will bring in this phase.
__device__ __forceinline__ void barrier_arrive_expecting(Barrier& barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}

/// Returns when the phase of parity `parity` has ended.
__device__ __forceinline__ void barrier_wait(Barrier& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

/// Position in a ring of kStages buffers, with the parity of the phase that this round waits for.
template <int kStages>
struct Ring {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
