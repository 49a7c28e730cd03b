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

/// Sums of a group of blocks, times `factor`, as 16 bits into a tile in shared memory, for units with
/// adjacent columns in the sums of a block.
template <class Unit, int kBlocks, int kColumns>
__device__ __forceinline__ void put_group(const Unit& unit, const Tile<Unit, kColumns>& tile, int first_row,
                                          int first_column, const float (&sums)[kBlocks][Unit::kSums],
                                          float factor) {
  using T = typename Unit::Element;
  static_assert(Unit::kAdjacentSums);
  FMHA_BWD_UNROLL
  for (int t = 0; t < kBlocks; ++t) {
    FMHA_BWD_UNROLL
    for (int r = 0; r < Unit::kSums; r += 2) {
      const int column = first_column + unit.template column<kBlocks>(t, r);
      *reinterpret_cast<std::uint32_t*>(tile.element(first_row, unit.row(r), column)) =
          pack<T>(sums[t][r] * factor, sums[t][r + 1] * factor);
    }
  }
}

/// to[first_row + r][c] = tile[r][c] for kRows rows where that exists, by all kThreads threads.
template <int kThreads, int kRows, class Unit, int kColumns, class T>
__device__ __forceinline__ void copy_out(const Tile<Unit, kColumns>& tile, const Rows<T>& to, int first_row) {
  constexpr int kGranules = Tile<Unit, kColumns>::kGranules;
  for (int i = current_thread(); i < kRows * kGranules; i += kThreads) {
    const int row = i / kGranules;
    const int granule = i % kGranules;
    if (first_row + row >= to.rows || granule * kGranule >= to.columns) continue;
    *reinterpret_cast<uint4*>(to.row(first_row + row) + granule * kGranule) =
        *reinterpret_cast<const uint4*>(tile.granule(0, row, granule));
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
