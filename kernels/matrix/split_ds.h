// dS for dQ in two parts, where matrix cores take subnormal fp16 for zero (gfx90a).
//
//   dS = large + 2^-29 small,  dQ += (2^-29 small) K + large K
//
// `large` is dS but for what is below fp16's smallest normal number, `small` is that, multiplied into fp16's
// range. A row of dQ whose every dS is small (a soft-cap that all keys have reached, a dO of nearly nothing)
// is right so; the second product is left out of tiles that have no small dS. The parts stand in what are
// two buffers of dS elsewhere: one barrier a tile more, and a flag a wave.
#pragma once

#include "kernels/matrix/products.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// A wave's part of a tile's dS. `flags` [kWaves] in shared memory: which waves' parts have small dS.
template <class B>
class SplitDs {
  using Unit = typename B::Unit;
  using Tile = typename B::DsTile;
  using Operand = typename Unit::Operand;
  using Scores = float[B::kOwnerBlocks][B::kChunks][B::kDepthBlocks][Unit::kSums];
  static_assert(B::kColumnWaves == 1);

 public:
  /// For all to read behind a barrier, when all have read the tile before.
  __device__ __forceinline__ void store(const Unit& unit, const Scores& ds, const Tile& large,
                                        const Tile& small, int* flags, int wave) {
    bool has_small = false;
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int n = 0; n < B::kWalkBlocks * Unit::kSums; ++n) {
        const float x =
            ds[b][n / Unit::kSums / B::kDepthBlocks][n / Unit::kSums % B::kDepthBlocks][n % Unit::kSums];
        has_small = has_small || (is_small(x) && x != 0.0F);
      }
    }
    const bool any = __any(has_small) != 0;
    store_part(unit, ds, large, wave, [](float x) { return is_small(x) ? 0.0F : x; });
    if (any || stored_small_)
      store_part(unit, ds, small, wave, [](float x) { return is_small(x) ? x * kRaise : 0.0F; });
    stored_small_ = any;
    if (unit.lane() == 0) flags[wave] = any ? 1 : 0;
  }

  /// add_dq of both parts (kernels/matrix/products.h).
  template <class KColumns>
  __device__ static __forceinline__ void add_dq(const Unit& unit, const Tile& large, const Tile& small,
                                                const int* flags, int wave, const KColumns& k_columns,
                                                float* block) {
    DqSums<B> dq = {};
    if (any_of(flags)) {
      add_ds_k<B>(unit, dq, small, wave, k_columns);
      FMHA_BWD_UNROLL
      for (auto& row_block : dq) {
        FMHA_BWD_UNROLL
        for (auto& group : row_block) {
          FMHA_BWD_UNROLL
          for (auto& sums : group) {
            FMHA_BWD_UNROLL
            for (float& sum : sums) sum *= 1.0F / kRaise;
          }
        }
      }
    }
    add_ds_k<B>(unit, dq, large, wave, k_columns);
    accumulate<B>(unit, dq, block);
  }

 private:
  static constexpr float kRaise = 0x1p29F;

  __device__ static __forceinline__ bool any_of(const int* flags) {
    int any = 0;
    FMHA_BWD_UNROLL
    for (int wave = 0; wave < B::kWaves; ++wave) any |= flags[wave];
    return uniform(any) != 0;
  }

  __device__ static __forceinline__ bool is_small(float x) { return fabsf(x) < 0x1p-14F; }

  template <class PartOf>
  __device__ static __forceinline__ void store_part(const Unit& unit, const Scores& ds, const Tile& tile,
                                                    int wave, const PartOf& part_of) {
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < B::kChunks; ++chunk) {
      Operand operands[B::kOwnerBlocks];
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        float part[B::kDepthBlocks][Unit::kSums];
        FMHA_BWD_UNROLL
        for (int n = 0; n < B::kDepthBlocks * Unit::kSums; ++n)
          part[n / Unit::kSums][n % Unit::kSums] = part_of(ds[b][chunk][n / Unit::kSums][n % Unit::kSums]);
        operands[b] = unit.left_of(part);
      }
      unit.store_ds(tile, operands, chunk * Unit::kDepth, wave * B::kWaveKeys);
    }
  }

  bool stored_small_ = true;  // whether the wave's part of `small` is not known to be zeros
};

/// Of units that scale nothing.
struct NoSplitDs {};
template <class B>
using SplitDsOf = std::conditional_t<B::Unit::kScalesInputs, SplitDs<B>, NoSplitDs>;

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
