// One wave's products on CDNA's matrix cores: MFMA of 16 x 16 x 32 on gfx950, before it two of 16 x 16 x 16.
//
// Fragments (AMD matrix instruction calculator), l = lane, e = element, r = sum:
//   A[i][k]  i = l % 16,  16 x 16 x 16: k = 4 (l / 16) + e, e < 4;  16 x 16 x 32: k = 8 (l / 16) + e, e < 8
//   B[k][j]  j = l % 16,  k as in A
//   C[i][j]  i = 4 (l / 16) + r,  j = l % 16
// The order of k is free as long as A and B agree. Two orders are in use:
//   rows    k = 8 (l / 16) + e: 16 bytes of a row, for products of two row-major operands
//   scores  k = 4 (l / 16) + e, and 16 + 4 (l / 16) + e - 4 from e = 4 on: what C of two blocks of scores,
//           queries by keys, gives as A of the transposed product: P and dS of dV and dK
// What a unit is: kernels/matrix/dq_dk_dv.h, and kernels/matrix/amd_unit.h.
#pragma once

#include "kernels/matrix/amd_unit.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

template <class T>
struct Unit : matrix::AmdUnit<Unit<T>, T, 64> {
  using Base = matrix::AmdUnit<Unit<T>, T, 64>;
  using Base::lane;
  static constexpr int kDepth = 32;
  static constexpr int kWords = 4;
  static constexpr int kSums = 4;
  static constexpr int kGroup = 4;
  static constexpr bool kScalesInputs = std::is_same_v<T, Half>;  // gfx90a takes subnormal fp16 for zero

  struct Operand {
    std::uint32_t words[kWords];
  };

  using Base::Base;

  /// Makes the compiler finish sums before it reads what comes later, where that takes too many registers.
  __device__ static __forceinline__ void finish_here(float (&/*sums*/)[kSums]) {}

  // Of gfx950's 64 banks, as of 32, each is to be touched once. Lanes that are served together have, of 16
  // rows in four sets of four: reads of rows, sets 0, 3 and of the next granule 1, 2, or 0 and of the next 1;
  // reads of columns and writes of dS, rows that are four apart.
  template <int kGranules>
  __device__ static __forceinline__ int swizzle(int row) {
    const int of_eight = row % 4 | (row / 4 ^ row / 8) % 2 * 4;
    return kGranules < 16 ? of_eight : of_eight | row / 4 % 2 * 8;
  }
  /// Rows of 128 bytes: bits 0 and 2 change places, so that rows four apart are in different halves.
  template <int kGranules>
  __device__ static __forceinline__ int place(int row) {
    return kGranules < 16 ? (row & ~5) | row % 2 * 4 | row / 4 % 2 : row;
  }

  __device__ __forceinline__ int row(int r) const { return lane() / 16 * 4 + r; }
  /// The row that element e of a column operand is of, in the order of scores or of rows.
  template <bool kOfScores>
  __device__ __forceinline__ int depth_row(int e) const {
    return kOfScores ? e / 4 * 16 + lane() / 16 * 4 + e % 4 : lane() / 16 * 8 + e;
  }
  /// The walked row of element e of a left operand made of scores.
  __device__ __forceinline__ int own_row(int e) const { return depth_row<true>(e); }

  __device__ __forceinline__ void walked_values(const float* from, float (&values)[kSums]) const {
    const float4 four = *reinterpret_cast<const float4*>(from + lane() / 16 * 4);
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
  }

  template <int kColumns>
  __device__ __forceinline__ Operand rows(const matrix::Tile<Unit, kColumns>& tile, int first_row,
                                          int step) const {
    return operand_of(
        *reinterpret_cast<const uint4*>(tile.granule(first_row, lane() % 16, 4 * step + lane() / 16)));
  }
  __device__ static __forceinline__ Operand operand_of(uint4 granule) {
    return {{granule.x, granule.y, granule.z, granule.w}};
  }

  __device__ static __forceinline__ void multiply_scores(float (&scores)[kSums], const Operand& owner_rows,
                                                         const Operand& walked_rows) {
    mfma_16x16x32<T>(scores, walked_rows.words, owner_rows.words);
  }
  __device__ static __forceinline__ void multiply(float (&sums)[kSums], const Operand& left,
                                                  const Operand& right) {
    mfma_16x16x32<T>(sums, left.words, right.words);
  }

  __device__ static __forceinline__ Operand left_of(const float (&scores)[2][kSums]) {
    return {{pack<T>(scores[0][0], scores[0][1]), pack<T>(scores[0][2], scores[0][3]),
             pack<T>(scores[1][0], scores[1][1]), pack<T>(scores[1][2], scores[1][3])}};
  }

  template <int kBlocks, int kColumns>
  __device__ __forceinline__ void store_ds(const matrix::Tile<Unit, kColumns>& tile,
                                           const Operand (&ds)[kBlocks], int first_query,
                                           int first_key) const {
    std::uint32_t words[kBlocks][kWords];
    FMHA_BWD_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int n = 0; n < kWords; ++n) words[b][n] = ds[b].words[n];
    }
    matrix::write_ds(*this, tile, words, first_query, first_key);
  }

  template <class Combine>
  __device__ __forceinline__ float combine_walked(float value, const Combine& combine) const {
    value = combine(value, __shfl_xor(value, 16));
    return combine(value, __shfl_xor(value, 32));
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
