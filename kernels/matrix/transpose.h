// Columns of a tile as operands of AMD's matrix cores, without a transposed copy: a lane reads kBlocks
// adjacent elements of each of its rows, and turns them in registers.
#pragma once

#include "kernels/matrix/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// The words of kBlocks adjacent elements.
template <int kBlocks>
constexpr int kWordsOf = kBlocks < 2 ? 1 : kBlocks / 2;

/// kBlocks adjacent elements at `from`, a multiple of as many bytes.
template <int kBlocks>
__device__ __forceinline__ void read_adjacent(std::uint32_t (&words)[kWordsOf<kBlocks>], const void* from) {
  static_assert(kBlocks == 1 || kBlocks == 2 || kBlocks == 4);
  if constexpr (kBlocks == 1) {
    words[0] = *static_cast<const std::uint16_t*>(from);
  } else if constexpr (kBlocks == 2) {
    words[0] = *static_cast<const std::uint32_t*>(from);
  } else {
    const uint2 both = *static_cast<const uint2*>(from);
    words[0] = both.x;
    words[1] = both.y;
  }
}

/// Element `low` and `high`, halves of two words, as one word.
template <int kHalf>
__device__ __forceinline__ std::uint32_t halves_of(std::uint32_t low, std::uint32_t high) {
  return kHalf == 0 ? lower_halves(low, high) : upper_halves(low, high);
}

/// operands[t].words[n] = elements t of rows 2n and 2n + 1, from the rows that a lane has read.
template <class Operand, int kBlocks, int kRows>
__device__ __forceinline__ void turn(Operand (&operands)[kBlocks],
                                     const std::uint32_t (&rows)[kRows][kWordsOf<kBlocks>]) {
  FMHA_BWD_UNROLL
  for (int n = 0; n < kRows / 2; ++n) {
    FMHA_BWD_UNROLL
    for (int t = 0; t < kBlocks; ++t) {
      const std::uint32_t low = rows[2 * n][t / 2];
      const std::uint32_t high = rows[2 * n + 1][t / 2];
      operands[t].words[n] = t % 2 == 0 ? halves_of<0>(low, high) : halves_of<1>(low, high);
    }
  }
}

/// kBlocks operands of Unit::kDepth rows of a tile from first_row on: operand t has the columns first_column
/// + kBlocks i + t, i < 16. The order of the rows is that of the scores or of rows, see Unit::depth_row.
template <bool kOfScores, class Unit, int kBlocks, int kColumns>
__device__ __forceinline__ void read_columns(const Unit& unit, typename Unit::Operand (&operands)[kBlocks],
                                             const Tile<Unit, kColumns>& tile, int first_row,
                                             int first_column) {
  constexpr int kRows = 2 * Unit::kWords;
  std::uint32_t rows[kRows][kWordsOf<kBlocks>];
  FMHA_BWD_UNROLL
  for (int e = 0; e < kRows; ++e) {
    read_adjacent<kBlocks>(rows[e], tile.element(first_row, unit.template depth_row<kOfScores>(e),
                                                 first_column + unit.lane() % 16 * kBlocks));
  }
  turn(operands, rows);
}

/// Stores dS of the wave's keys from first_key on, 16 bits each, or 32 where a lane has two adjacent keys.
/// The tile is [queries, keys]; words[n] of a block has the queries first_query + Unit::own_row(2n) and of
/// 2n + 1.
template <class Unit, int kBlocks, int kWords, int kColumns>
__device__ __forceinline__ void write_ds(const Unit& unit, const Tile<Unit, kColumns>& tile,
                                         const std::uint32_t (&words)[kBlocks][kWords], int first_query,
                                         int first_key) {
  static_assert(kBlocks == 1 || kBlocks == 2);
  const int key = first_key + unit.lane() % 16 * kBlocks;
  FMHA_BWD_UNROLL
  for (int n = 0; n < kWords; ++n) {
    std::byte* const first = tile.element(first_query, unit.own_row(2 * n), key);
    std::byte* const second = tile.element(first_query, unit.own_row(2 * n + 1), key);
    if constexpr (kBlocks == 2) {
      *reinterpret_cast<std::uint32_t*>(first) = halves_of<0>(words[0][n], words[1][n]);
      *reinterpret_cast<std::uint32_t*>(second) = halves_of<1>(words[0][n], words[1][n]);
    } else {
      *reinterpret_cast<std::uint16_t*>(first) = static_cast<std::uint16_t>(words[0][n]);
      *reinterpret_cast<std::uint16_t*>(second) = static_cast<std::uint16_t>(words[0][n] >> 16);
    }
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
