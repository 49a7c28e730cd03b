// Powers of two that inputs and dS are multiplied by, where matrix cores take subnormal fp16 for zero
// (gfx90a): small numbers would be lost, and with long sequences all of dS is small.
//
//   |dP_ij| <= |dO_i| |V_j|,  |D_i| <= max_j |dP_ij| / (1 - p)  with dropout p,  P <= 1
#pragma once

#include <hip/hip_runtime.h>
#include <matrix_core.h>

#include <cmath>
#include <type_traits>

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// Of Q, K, V and dO, in this order: the squares of the largest norms of their rows.
inline constexpr int kNorms = 4;

struct InputScales {
  float q = 1.0F;
  float k = 1.0F;
  float v = 1.0F;
  float d_o = 1.0F;
  float ds = 1.0F;

  InputScales() = default;
  /// `norms` [kNorms], or nullptr where nothing is scaled; keep_scale is 1 / (1 - p).
  __device__ __forceinline__ InputScales(const float* norms, float keep_scale) {
    if (!flushes_halves(norms)) return;
    const float of_v = sqrtf(norms[2]);
    const float of_d_o = sqrtf(norms[3]);
    q = fmaxf(power_for(sqrtf(norms[0])), 1.0F);
    k = fmaxf(power_for(sqrtf(norms[1])), 1.0F);
    v = fmaxf(power_for(of_v), 1.0F);
    d_o = fmaxf(power_for(of_d_o), 1.0F);
    ds = power_for(2.0F * keep_scale * of_v * of_d_o);
  }

 private:
  /// The largest power of two, of 2^-15 to 2^30, by which `bound` is no more than 2^15; 1 where the bound is
  /// zero or not finite.
  __device__ static __forceinline__ float power_for(float bound) {
    if (!(bound > 0.0F && bound < INFINITY)) return 1.0F;
    return exp2f(fminf(fmaxf(15.0F - ceilf(log2f(bound)), -15.0F), 30.0F));
  }
};

/// Of units that scale nothing: known to the compiler.
struct NoScales {
  static constexpr float q = 1.0F;
  static constexpr float k = 1.0F;
  static constexpr float v = 1.0F;
  static constexpr float d_o = 1.0F;
  static constexpr float ds = 1.0F;

  NoScales() = default;
  __device__ __forceinline__ NoScales(const float* /*norms*/, float /*keep_scale*/) {}
};
template <class Unit>
using ScalesOf = std::conditional_t<Unit::kScalesInputs, InputScales, NoScales>;

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
