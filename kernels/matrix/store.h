// Results of a wave to memory.
#pragma once

#include "kernels/matrix/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// to[row_of(r)][first_column + ..] = factor_of(r) times the sums of a group of kBlocks blocks, where that
/// exists: adjacent columns of a lane together. The columns of `to` are a multiple of 8.
template <class Unit, int kBlocks, class T, class RowOf, class FactorOf>
__device__ __forceinline__ void store_group(const Unit& unit, const Rows<T>& to, const RowOf& row_of,
                                            int first_column, const float (&sums)[kBlocks][Unit::kSums],
                                            const FactorOf& factor_of) {
  if constexpr (Unit::kAdjacentSums) {
    FMHA_BWD_UNROLL
    for (int t = 0; t < kBlocks; ++t) {
      FMHA_BWD_UNROLL
      for (int r = 0; r < Unit::kSums; r += 2) {
        const int row = row_of(r);
        const int column = first_column + unit.template column<kBlocks>(t, r);
        if (row >= to.rows || column >= to.columns) continue;
        const float factor = factor_of(r);
        *reinterpret_cast<std::uint32_t*>(to.row(row) + column) =
            pack<T>(sums[t][r] * factor, sums[t][r + 1] * factor);
      }
    }
  } else {
    static_assert(kBlocks == 2 || kBlocks == 4);
    FMHA_BWD_UNROLL
    for (int r = 0; r < Unit::kSums; ++r) {
      const int row = row_of(r);
      const int column = first_column + unit.template column<kBlocks>(0, r);
      const float factor = factor_of(r);
      if (row >= to.rows || column >= to.columns) continue;
      const std::uint32_t first = pack<T>(sums[0][r] * factor, sums[1][r] * factor);
      if constexpr (kBlocks == 2) {
        *reinterpret_cast<std::uint32_t*>(to.row(row) + column) = first;
      } else {
        *reinterpret_cast<uint2*>(to.row(row) + column) =
            make_uint2(first, pack<T>(sums[2][r] * factor, sums[3][r] * factor));
      }
    }
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
