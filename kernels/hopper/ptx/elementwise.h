// Single instructions on registers: exponential, packing, and the ways of registers to memory.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "kernels/hopper/ptx/mbarrier.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// 2^x within 2 ulp; subnormal results are zero, 2^-inf is 0.
__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Two elements, rounded to nearest even, `low` in the low half.
template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high);
template <>
__device__ __forceinline__ std::uint32_t pack<Half>(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
template <>
__device__ __forceinline__ std::uint32_t pack<Bfloat16>(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// Four 8 x 8 matrices of 16-bit elements to shared memory: lane l gives the address of row l % 8 of matrix l
/// / 8; of matrix i, a lane holds row l / 4, columns 2 (l % 4) and the next, in word i.
__device__ __forceinline__ void store_matrices(std::uint32_t address, const std::uint32_t (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

/// Adds four floats to global memory, each addition atomic; `to` is a multiple of 16 bytes.
__device__ __forceinline__ void add_to_global(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c),
               "f"(d)
               : "memory");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
