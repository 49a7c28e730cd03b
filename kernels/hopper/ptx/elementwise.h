// Single instructions on registers: the ways of registers to memory; <matrix_core.h> has exponential and
// packing.
#pragma once

#include <matrix_core.h>

#include <cstdint>

#include "kernels/hopper/ptx/mbarrier.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Four 8 x 8 matrices of 16-bit elements to shared memory: lane l gives the address of row l % 8 of matrix l
/// / 8; of matrix i, a lane holds row l / 4, columns 2 (l % 4) and the next, in word i.
__device__ __forceinline__ void store_matrices(std::uint32_t address, const std::uint32_t (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

/// An 8 x 8 matrix of 16-bit elements, transposed: a lane holds row l / 4, columns 2 (l % 4) and the next.
__device__ __forceinline__ std::uint32_t transposed(std::uint32_t matrix) {
  std::uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(matrix));
  return result;
}

/// Adds four floats to global memory, each addition atomic; `to` is a multiple of 16 bytes.
__device__ __forceinline__ void add_to_global(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c),
               "f"(d)
               : "memory");
}

/// Reads what another block has stored with fence_and_store; what that block did before is done.
__device__ __forceinline__ unsigned load_acquire(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// What this thread did, and what it knows others of the block to have done, is to be seen by every block
/// that sees what the thread does next.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

/// Adds to a counter that others read by load_acquire.
__device__ __forceinline__ void add_to_count(unsigned* to, unsigned value) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

/// Returns when load_acquire reads `value`. (One statement, and not a loop around it: the compiler then knows
/// that a warp stays together.)
__device__ __forceinline__ void await_value(const unsigned* from, unsigned value) {
  asm volatile(
      "{\n"
      ".reg .pred other;\n"
      ".reg .u32 read;\n"
      "again:\n"
      "ld.acquire.gpu.global.u32 read, [%0];\n"
      "setp.ne.u32 other, read, %1;\n"
      "@other bra again;\n"
      "}\n" ::"l"(from),
      "r"(value)
      : "memory");
}

/// Stores when all that this thread did, and all it knows others of the block to have done, is to be seen by
/// every block.
__device__ __forceinline__ void fence_and_store(unsigned* to, unsigned value) {
  asm volatile("fence.acq_rel.gpu;\n\tst.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
