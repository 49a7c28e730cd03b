// Matrix cores of AMD GPUs, behind the names that the emulator has too: MFMA (CDNA) and WMMA (RDNA) with
// 16-bit elements and fp32 sums. Operands are words of two elements, the first in the low half. Which element
// is which: kernels/cdna/unit.h and kernels/rdna/unit.h.
#pragma once

#include <hip/hip_runtime.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template <class Element, int kCount>
using NativeVector = Element __attribute__((ext_vector_type(kCount)));

/// Words as the vector that an instruction takes.
template <class Vector, int kWords>
__device__ __forceinline__ Vector vector_of(const std::uint32_t (&words)[kWords]) {
  NativeVector<std::uint32_t, kWords> all;
#pragma unroll
  for (int i = 0; i < kWords; ++i) all[i] = words[i];
  return std::bit_cast<Vector>(all);
}
template <int kCount>
__device__ __forceinline__ NativeVector<float, kCount> vector_of(const float (&sums)[kCount]) {
  NativeVector<float, kCount> all;
#pragma unroll
  for (int i = 0; i < kCount; ++i) all[i] = sums[i];
  return all;
}
template <int kCount>
__device__ __forceinline__ void set(float (&sums)[kCount], const NativeVector<float, kCount>& values) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = values[i];
}

#if defined(__gfx90a__) || defined(__gfx942__)
/// sums += A B of 16 x 16 x 32: two products of 16 x 16 x 16, of words 0 and 1, then of words 2 and 3.
template <class T>
__device__ __forceinline__ void mfma_16x16x32(float (&sums)[4], const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[4]) {
  auto c = vector_of(sums);
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const std::uint32_t left[2] = {a[i], a[i + 1]};
    const std::uint32_t right[2] = {b[i], b[i + 1]};
    if constexpr (std::is_same_v<T, Half>) {
      using Vector = NativeVector<_Float16, 4>;
      c = __builtin_amdgcn_mfma_f32_16x16x16f16(vector_of<Vector>(left), vector_of<Vector>(right), c, 0, 0,
                                                0);
    } else {
      using Vector = NativeVector<short, 4>;
      c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(vector_of<Vector>(left), vector_of<Vector>(right), c, 0,
                                                    0, 0);
    }
  }
  set<4>(sums, c);
}
#elif defined(__gfx950__)
/// sums += A B of 16 x 16 x 32.
template <class T>
__device__ __forceinline__ void mfma_16x16x32(float (&sums)[4], const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[4]) {
  if constexpr (std::is_same_v<T, Half>) {
    using Vector = NativeVector<_Float16, 8>;
    set<4>(sums, __builtin_amdgcn_mfma_f32_16x16x32_f16(vector_of<Vector>(a), vector_of<Vector>(b),
                                                        vector_of(sums), 0, 0, 0));
  } else {
    using Vector = NativeVector<__bf16, 8>;
    set<4>(sums, __builtin_amdgcn_mfma_f32_16x16x32_bf16(vector_of<Vector>(a), vector_of<Vector>(b),
                                                         vector_of(sums), 0, 0, 0));
  }
}
#elif defined(__GFX11__)
/// sums += A B of 16 x 16 x 16; lanes 16 to 31 repeat the operands of lanes 0 to 15.
template <class T>
__device__ __forceinline__ void wmma_16x16x16_gfx11(float (&sums)[8], const std::uint32_t (&a)[8],
                                                    const std::uint32_t (&b)[8]) {
  if constexpr (std::is_same_v<T, Half>) {
    using Vector = NativeVector<_Float16, 16>;
    set<8>(sums, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(vector_of<Vector>(a), vector_of<Vector>(b),
                                                            vector_of(sums)));
  } else {
    using Vector = NativeVector<short, 16>;
    set<8>(sums, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(vector_of<Vector>(a), vector_of<Vector>(b),
                                                             vector_of(sums)));
  }
}
#elif defined(__GFX12__)
/// sums += A B of 16 x 16 x 16.
template <class T>
__device__ __forceinline__ void wmma_16x16x16_gfx12(float (&sums)[8], const std::uint32_t (&a)[4],
                                                    const std::uint32_t (&b)[4]) {
  if constexpr (std::is_same_v<T, Half>) {
    using Vector = NativeVector<_Float16, 8>;
    set<8>(sums, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(vector_of<Vector>(a), vector_of<Vector>(b),
                                                                  vector_of(sums)));
  } else {
    using Vector = NativeVector<short, 8>;
    set<8>(sums, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(vector_of<Vector>(a), vector_of<Vector>(b),
                                                                   vector_of(sums)));
  }
}
#else
// The host's compiler reads the kernels that call them, and makes no code of it.
template <class T>
__device__ void mfma_16x16x32(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4]);
template <class T>
__device__ void wmma_16x16x16_gfx11(float (&sums)[8], const std::uint32_t (&a)[8],
                                    const std::uint32_t (&b)[8]);
template <class T>
__device__ void wmma_16x16x16_gfx12(float (&sums)[8], const std::uint32_t (&a)[4],
                                    const std::uint32_t (&b)[4]);
#endif

/// Whether matrix cores take subnormal fp16 for zero. `norms` of the inputs are there where they do.
__device__ __forceinline__ constexpr bool flushes_halves(const float* /*norms*/) {
#if defined(__gfx90a__)
  return true;
#else
  return false;
#endif
}

/// The value of lane l ^ 16, in waves of 32.
__device__ __forceinline__ std::uint32_t swap_halves(std::uint32_t value) {
#if defined(__GFX11__) || defined(__GFX12__)
  return static_cast<std::uint32_t>(
      __builtin_amdgcn_permlanex16(static_cast<int>(value), static_cast<int>(value), 0x76543210,
                                   static_cast<int>(0xfedcba98U), false, false));
#else
  return value;
#endif
}

/// 2^x within 1 ulp; subnormal results are zero, 2^-inf is 0.
__device__ __forceinline__ float exp2_approximate(float x) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_amdgcn_exp2f(x);
#else
  return x;
#endif
}

/// The upper halves of two words as one word, or the lower ones.
__device__ __forceinline__ std::uint32_t upper_halves(std::uint32_t low, std::uint32_t high) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_amdgcn_perm(high, low, 0x07060302);
#else
  return low >> 16 | (high & 0xffff0000U);
#endif
}
__device__ __forceinline__ std::uint32_t lower_halves(std::uint32_t low, std::uint32_t high) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_amdgcn_perm(high, low, 0x05040100);
#else
  return (low & 0xffffU) | high << 16;
#endif
}

/// Two elements, rounded to nearest even, `low` in the low half.
template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
#if !defined(__gfx950__)
  if constexpr (std::is_same_v<T, Bfloat16>) {
    // NaNs of 16-bit inputs and of arithmetic have zeros in the low half, and stay NaNs.
    const auto rounded = [](float value) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      return bits + 0x7fffU + (bits >> 16 & 1U);
    };
    return upper_halves(rounded(low), rounded(high));
  }
#endif
  using Native = std::conditional_t<std::is_same_v<T, Half>, _Float16, __bf16>;
  const NativeVector<Native, 2> both = {static_cast<Native>(low), static_cast<Native>(high)};
  return std::bit_cast<std::uint32_t>(both);
}

/// This thread's number in the workgroup, and the lane's in its wave. Where it is not kKept it is asked for
/// anew each time: what is computed of it is not kept in registers from one use to a far one. That it is
/// small saves the instructions for signs of divisions.
template <bool kKept = false>
__device__ __forceinline__ int current_thread() {
  auto thread = static_cast<int>(threadIdx.x);
  if constexpr (!kKept) asm volatile("" : "+v"(thread));
  __builtin_assume(thread >= 0 && thread < 1024);
  return thread;
}
template <int kWave, bool kKept = false>
__device__ __forceinline__ int current_lane_of() {
  return current_thread<kKept>() % kWave;
}

/// The compiler finishes the sums before it, and moves no access to memory past it.
__device__ __forceinline__ void keep_order(float (&sums)[8]) {
  NativeVector<float, 8> values = vector_of(sums);
  asm volatile("" : "+v"(values)::"memory");
  set<8>(sums, values);
}

/// The number of this thread's wave: a scalar.
template <int kWave>
__device__ __forceinline__ int current_wave() {
  return __builtin_amdgcn_readfirstlane(static_cast<int>(threadIdx.x) / kWave);
}

/// The number of this workgroup: a scalar.
__device__ __forceinline__ int current_block() { return static_cast<int>(blockIdx.x); }

/// A value that all lanes of the wave have, where the compiler may know it.
__device__ __forceinline__ int uniform(int value) { return __builtin_amdgcn_readfirstlane(value); }
/// The same for a place in a scalar register.
__device__ __forceinline__ int scalar(int value) { return uniform(value); }

/// Where sum r of a lane's kCount stands in a block of a wave's sums in global memory, [kCount, kWave].
template <int kWave>
__device__ __forceinline__ constexpr int place_of_sum(int r, int lane) {
  return r * kWave + lane;
}

/// Adds a wave's sums to such a block, each addition atomic.
template <int kWave, int kCount>
__device__ __forceinline__ void add_to_global(float* block, int lane, const float (&sums)[kCount]) {
#pragma unroll
  for (int r = 0; r < kCount; ++r) unsafeAtomicAdd(block + place_of_sum<kWave>(r, lane), sums[r]);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
