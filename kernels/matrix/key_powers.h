// Powers of two, two a key, that P and dS are multiplied by for dV and dK, where matrix cores take subnormal
// fp16 for zero (gfx90a).
//
//   dV_j = 2^-e_j sum_i (2^e_j P_ij) dO_i,  dK_j = 2^-f_j sum_i (2^f_j dS_ij) Q_i
//
// One power for a problem (kernels/matrix/input_scales.h) leaves P and dS 2^29 of range: nothing is left of a
// key that no query looks at, as in a softmax that is nearly one-hot, or of keys whose queries have small dO
// beside others'. So each key has the powers that bring its largest P and dS so far near 2^15, and its sums
// shrink where a larger one comes: the online softmax (arXiv:1805.02867) with keys for queries.
#pragma once

#include <bit>

#include "kernels/matrix/tiling.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// The powers of one of P and dS, of the lane's keys: one of each block.
template <class B>
class KeyPowers {
  using Unit = typename B::Unit;
  static_assert(Unit::kOwners == 1);
  using Scores = float[B::kOwnerBlocks][B::kChunks][B::kDepthBlocks][Unit::kSums];
  using Gradients = float[B::kOwnerBlocks][B::kGroups][B::kGroup][Unit::kSums];

 public:
  /// All powers are and stay 1 where this is not `on`.
  __device__ __forceinline__ explicit KeyPowers(bool on) {
    FMHA_BWD_UNROLL
    for (float& power : powers_) power = on ? power_for(0.0F) : 1.0F;
  }

  /// Multiplies a tile's factors by the keys' powers, which the sums so far take over.
  __device__ __forceinline__ void multiply(const Unit& unit, Scores& factors, Gradients& sums) {
    float before[B::kOwnerBlocks];
    bool changes = false;
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      float largest = 0.0F;
      FMHA_BWD_UNROLL
      for (int n = 0; n < kFactors; ++n) largest = fmaxf(largest, fabsf(factor(factors[b], n)));
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
          const float of_row = unit.of_row(shrink, r);
          FMHA_BWD_UNROLL
          for (int n = 0; n < B::kGroups * B::kGroup; ++n) sums[b][n / B::kGroup][n % B::kGroup][r] *= of_row;
        }
      }
    }
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int n = 0; n < kFactors; ++n) factor(factors[b], n) *= powers_[b];
    }
  }

  /// What sums of row r of block b are to be multiplied by at last. By all lanes of the wave.
  __device__ __forceinline__ float undo(const Unit& unit, int block, int r) const {
    const float inverse[1] = {1.0F / powers_[block]};
    return unit.of_row(inverse, r);
  }

 private:
  static constexpr int kFactors = B::kWalkBlocks * Unit::kSums;  // of a block's key in a tile

  template <class Block>
  __device__ static __forceinline__ auto& factor(Block& block, int n) {
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
struct NoKeyPowers {
  __device__ __forceinline__ explicit NoKeyPowers(bool /*on*/) {}
  template <class Unit>
  __device__ __forceinline__ float undo(const Unit& /*unit*/, int /*block*/, int /*r*/) const {
    return 1.0F;
  }
};
template <class B>
using KeyPowersOf = std::conditional_t<B::Unit::kScalesInputs, KeyPowers<B>, NoKeyPowers>;

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
