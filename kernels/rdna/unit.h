// One wave's products on RDNA's matrix cores: WMMA of 16 x 16 x 16 by waves of 32.
//
// Fragments (LLVM's and AMD's documentation of WMMA), l = lane, e = element, r = sum:
//            A[i][k], and B[k][j] with j for i                       C[i][j]
//   gfx11    i = l % 16, k = e, e < 16: both halves of the wave alike  i = 2 r + l / 16, j = l % 16
//   gfx12    i = l % 16, k = 8 (e / 4) + 4 (l / 16) + e % 4, e < 8    i = 8 (l / 16) + r, j = l % 16
// The order of k is free as long as A and B agree. On gfx12 the order k = 8 (l / 16) + e serves rows (16
// bytes of each) and scores: C of queries by keys is A of the transposed product. On gfx11 a lane has every
// second query of a block, and gets the others from lane l ^ 16: first the even ones, then the odd. What a
// unit is: kernels/matrix/dq_dk_dv.h, and kernels/matrix/amd_unit.h.
#pragma once

#include "kernels/matrix/amd_unit.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna {

/// The architectures differ where kGfx12 is asked for.
template <class T, bool kGfx12>
struct Unit : matrix::AmdUnit<Unit<T, kGfx12>, T, 32> {
  using Base = matrix::AmdUnit<Unit<T, kGfx12>, T, 32>;
  using Base::lane;
  static constexpr int kDepth = 16;
  static constexpr int kWords = kGfx12 ? 4 : 8;
  static constexpr int kSums = 8;
  static constexpr int kGroup = 4;
  static constexpr bool kScalesInputs = false;

  struct Operand {
    std::uint32_t words[kWords];
  };

  using Base::Base;

  /// Makes the compiler finish sums before it reads what comes later, where that takes too many registers.
  __device__ static __forceinline__ void finish_here(float (&sums)[kSums]) { keep_order(sums); }

  /// Rows that differ by 1 or by 8, which the halves of a wave have, are 64 bytes apart.
  template <int kGranules>
  __device__ static __forceinline__ int swizzle(int row) {
    return (row / 2 % 4 | row % 2 * 4) ^ row / 8 % 2 * 4;
  }

  template <int kGranules>
  __device__ static __forceinline__ int place(int row) {
    return row;
  }

  __device__ __forceinline__ int row(int r) const {
    return kGfx12 ? lane() / 16 * 8 + r : 2 * r + lane() / 16;
  }
  template <bool kOfScores>
  __device__ __forceinline__ int depth_row(int e) const {
    if constexpr (kGfx12) return lane() / 16 * 8 + e;
    return kOfScores ? e % 8 * 2 + e / 8 : e;
  }
  __device__ __forceinline__ int own_row(int r) const { return row(r); }

  __device__ __forceinline__ void walked_values(const float* from, float (&values)[kSums]) const {
    FMHA_BWD_UNROLL
    for (int r = 0; r < kSums; ++r) values[r] = from[row(r)];
  }

  template <int kColumns>
  __device__ __forceinline__ Operand rows(const matrix::Tile<Unit, kColumns>& tile, int first_row,
                                          int step) const {
    const int at = lane() % 16;
    if constexpr (kGfx12) {
      const uint4 granule =
          *reinterpret_cast<const uint4*>(tile.granule(first_row, at, 2 * step + lane() / 16));
      return {{granule.x, granule.y, granule.z, granule.w}};
    } else {
      const uint4 first = *reinterpret_cast<const uint4*>(tile.granule(first_row, at, 2 * step));
      const uint4 second = *reinterpret_cast<const uint4*>(tile.granule(first_row, at, 2 * step + 1));
      return {{first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w}};
    }
  }

  __device__ static __forceinline__ void multiply_scores(float (&scores)[kSums], const Operand& owner_rows,
                                                         const Operand& walked_rows) {
    multiply(scores, walked_rows, owner_rows);
  }
  __device__ static __forceinline__ void multiply(float (&sums)[kSums], const Operand& left,
                                                  const Operand& right) {
    if constexpr (kGfx12) {
      wmma_16x16x16_gfx12<T>(sums, left.words, right.words);
    } else {
      wmma_16x16x16_gfx11<T>(sums, left.words, right.words);
    }
  }

  __device__ __forceinline__ Operand left_of(const float (&scores)[1][kSums]) const {
    Operand left;
    FMHA_BWD_UNROLL
    for (int n = 0; n < 4; ++n) {
      const std::uint32_t own = pack<T>(scores[0][2 * n], scores[0][2 * n + 1]);
      if constexpr (kGfx12) {
        left.words[n] = own;
      } else {
        const std::uint32_t other = swap_halves(own);
        left.words[n] = lane() < 16 ? own : other;
        left.words[n + 4] = lane() < 16 ? other : own;
      }
    }
    return left;
  }

  template <int kBlocks, int kColumns>
  __device__ __forceinline__ void store_ds(const matrix::Tile<Unit, kColumns>& tile,
                                           const Operand (&ds)[kBlocks], int first_query,
                                           int first_key) const {
    std::uint32_t words[kBlocks][4];
    FMHA_BWD_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int n = 0; n < 4; ++n) {
        // Copies, or else clang picks the address, and keeps the words in memory.
        const std::uint32_t first = ds[b].words[n];
        const std::uint32_t second = ds[b].words[kWords - 4 + n];
        words[b][n] = kGfx12 || lane() < 16 ? first : second;
      }
    }
    matrix::write_ds(*this, tile, words, first_query, first_key);
  }

  template <class Combine>
  __device__ __forceinline__ float combine_walked(float value, const Combine& combine) const {
    return combine(value, __shfl_xor(value, 16));
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna
