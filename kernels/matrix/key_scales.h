// Powers of two, one a key, that P and dS are multiplied by for dV and dK, where matrix cores take subnormal
// fp16 for zero (gfx90a).
//
//   dV_j = 2^-e_j sum_i (2^e_j P_ij) dO_i,  dK_j likewise
//
// One power for a problem (kernels/matrix/input_scales.h) leaves P and dS 2^29 of range: enough for a query,
// which has a P of 1 / seqlen_k at least, but nothing is left of a key that no query looks at, as in a
// softmax that is nearly one-hot. So each key has the power that brings its largest P so far near 2^15, and
// its sums shrink where a larger one comes: the online softmax (arXiv:1805.02867) with keys for queries. dS
// is at most P times what dS is scaled for, so that it fits with the same power.
#pragma once

#include <bit>

#include "kernels/matrix/tiling.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// Those of the lane's keys, one of each block.
template <class B>
class KeyScales {
  using Unit = typename B::Unit;
  static_assert(Unit::kOwners == 1);
  using Scores = float[B::kOwnerBlocks][B::kChunks][B::kDepthBlocks][Unit::kSums];
  using Gradients = float[B::kOwnerBlocks][B::kGroups][B::kGroup][Unit::kSums];

 public:
  /// All powers are and stay 1 where this is not `on`.
  __device__ __forceinline__ explicit KeyScales(bool on) {
    FMHA_BWD_UNROLL
    for (float& power : powers_) power = on ? power_for(0.0F) : 1.0F;
  }

  /// Multiplies a tile's 2^shift P and its dS by the keys' powers, which the sums dk and dv take over. With
  /// dropout P can be zero where dS is not: kWatchesDs.
  template <bool kWatchesDs>
  __device__ __forceinline__ void multiply(const Unit& unit, Scores& p, Scores& ds, Gradients& dk,
                                           Gradients& dv) {
    float before[B::kOwnerBlocks];
    bool changes = false;
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      float largest = 0.0F;
      FMHA_BWD_UNROLL
      for (int n = 0; n < B::kWalkBlocks * Unit::kSums; ++n) {
        largest = fmaxf(largest, sum_of(p[b], n));
        if (kWatchesDs) largest = fmaxf(largest, fabsf(sum_of(ds[b], n)));
      }
      largest = unit.combine_walked(largest, [](float one, float other) { return fmaxf(one, other); });
      before[b] = powers_[b];
      powers_[b] = fminf(powers_[b], power_for(largest));
      changes = changes || powers_[b] != before[b];
    }
    if (__any(changes)) {
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        const float shrink[1] = {powers_[b] / before[b]};
        FMHA_BWD_UNROLL
        for (int r = 0; r < Unit::kSums; ++r) {
          const float factor = unit.of_row(shrink, r);
          FMHA_BWD_UNROLL
          for (int n = 0; n < B::kGroups * B::kGroup; ++n) {
            dk[b][n / B::kGroup][n % B::kGroup][r] *= factor;
            dv[b][n / B::kGroup][n % B::kGroup][r] *= factor;
          }
        }
      }
    }
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int n = 0; n < B::kWalkBlocks * Unit::kSums; ++n) {
        sum_of(p[b], n) *= powers_[b];
        sum_of(ds[b], n) *= powers_[b];
      }
    }
  }

  /// What sums of row r of block b are to be multiplied by at last. By all lanes of the wave.
  __device__ __forceinline__ float undo(const Unit& unit, int block, int r) const {
    const float inverse[1] = {1.0F / powers_[block]};
    return unit.of_row(inverse, r);
  }

 private:
  template <class Block>
  __device__ static __forceinline__ auto& sum_of(Block& block, int n) {
    const int w = n / Unit::kSums;
    return block[w / B::kDepthBlocks][w % B::kDepthBlocks][n % Unit::kSums];
  }
  /// The power of two, of 2^100 at the most, by which `largest` is in [2^14, 2^15).
  __device__ static __forceinline__ float power_for(float largest) {
    constexpr int kBias = 127;
    const int exponent = (std::bit_cast<int>(largest) >> 23) - kBias;
    const int wanted = 14 - exponent;
    return std::bit_cast<float>(((wanted < 100 ? wanted : 100) + kBias) << 23);
  }

  float powers_[B::kOwnerBlocks];
};

/// Of units that scale nothing.
struct NoKeyScales {
  __device__ __forceinline__ explicit NoKeyScales(bool /*on*/) {}
  template <class Unit>
  __device__ __forceinline__ float undo(const Unit& /*unit*/, int /*block*/, int /*r*/) const {
    return 1.0F;
  }
};
template <class B>
using KeyScalesOf = std::conditional_t<B::Unit::kScalesInputs, KeyScales<B>, NoKeyScales>;

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
