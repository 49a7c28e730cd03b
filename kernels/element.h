// One element of Q, K, V, dO or a gradient: storage in fp16, bf16 or fp32, arithmetic in fp32.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "base/dtype.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

__device__ __forceinline__ float to_float(Half x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ __forceinline__ float to_float(Bfloat16 x) { return float_from_bfloat16(x); }
__device__ __forceinline__ float to_float(float x) { return x; }

template <class T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ Half from_float<Half>(float x) {
  return Half{__half_as_ushort(__float2half_rn(x))};
}
template <>
__device__ __forceinline__ Bfloat16 from_float<Bfloat16>(float x) {
  return bfloat16_from_float(x);
}
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}

/// Sixteen bytes of elements: what one thread moves at a time.
template <class T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T elements[kSize];
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
