// One warp's products on NVIDIA's tensor cores: mma.sync of 16 x 8 x 16, two of them for 16 columns.
//
// Fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16"), l = lane, w = word, e = element of a word:
//   A[i][k]  i = l / 4 + 8 (w % 2),  k = 2 (l % 4) + e + 8 (w / 2)
//   B[k][j]  j = l / 4,              k = 2 (l % 4) + e + 8 w
//   C[i][j]  i = l / 4 + 8 (r / 2),  j = 2 (l % 4) + r % 2
// So C, packed, is an A: P and dS of keys by queries are the left operands of dV and dK. What a unit is:
// kernels/matrix/dq_dk_dv.h.
#pragma once

#include "kernels/matrix/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::mma {

template <class T>
struct Unit {
  using Element = T;
  static constexpr int kWave = 32;
  static constexpr int kDepth = 16;  // of one product
  static constexpr int kSums = 8;    // a lane's of a block of 16 x 16
  static constexpr int kOwners = 2;  // owner rows of a block that a lane has pairs of
  static constexpr int kGroup = 1;   // blocks of 16 columns that are read together
  static constexpr bool kScalesInputs = false;
  static constexpr bool kNotesMasks = false;  // computing them anew takes fewer registers
  static constexpr bool kAsksAgain =
      true;  // for the sequence: nvcc spills where it is kept, clang where it is not
  static constexpr bool kCopiesAsync = true;
  static constexpr bool kOwnerMajorDs = true;

  /// 16 rows by kDepth, or kDepth rows by 16 columns.
  struct Operand {
    std::uint32_t words[4];
  };

  __device__ __forceinline__ explicit Unit(int lane) : lane_(lane) {}
  __device__ __forceinline__ int lane() const { return lane_; }

  /// Behind the loads of tiles that belong together, and in front of the barrier behind which they are used.
  __device__ static __forceinline__ void commit_loads() { copy_async_commit(); }
  __device__ static __forceinline__ void wait_for_loads() { copy_async_wait<0>(); }

  /// Makes the compiler finish sums before it reads what comes later, where that takes too many registers.
  __device__ static __forceinline__ void finish_here(float (&/*sums*/)[kSums]) {}

  template <int kGranules>
  __device__ static __forceinline__ int swizzle(int row) {
    return row % 8;
  }

  template <int kGranules>
  __device__ static __forceinline__ int place(int row) {
    return row;
  }

  // Of a block of scores, owner rows by walked rows.
  __device__ static __forceinline__ constexpr int owner_index(int r) { return r / 2 % 2; }
  __device__ __forceinline__ int owner(int index) const { return lane() / 4 + 8 * index; }
  __device__ __forceinline__ int walked(int r) const { return 8 * (r / 4) + 2 * (lane() % 4) + r % 2; }
  // Of a block of results. `block` is its index in a group of kBlocks.
  __device__ __forceinline__ int row(int r) const { return owner(owner_index(r)); }
  template <int kBlocks>
  __device__ __forceinline__ int column(int block, int r) const {
    return 16 * block + walked(r);
  }
  /// The row of a wave's kBlocks * 16 that owner row `index` of block `block` is.
  template <int kBlocks>
  __device__ static __forceinline__ int owner_row(int block, int index) {
    return 16 * block + index;
  }

  /// values[r] = from[walked(r)], from shared memory; `from` is a multiple of 8 bytes.
  __device__ __forceinline__ void walked_values(const float* from, float (&values)[kSums]) const {
    FMHA_BWD_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float2 pair = *reinterpret_cast<const float2*>(from + 8 * half + 2 * (lane() % 4));
      values[4 * half] = values[4 * half + 2] = pair.x;
      values[4 * half + 1] = values[4 * half + 3] = pair.y;
    }
  }

  /// The operand of rows first_row .. + 15, columns kDepth * step .. + 15.
  template <int kColumns>
  __device__ __forceinline__ Operand rows(const matrix::Tile<Unit, kColumns>& tile, int first_row,
                                          int step) const {
    Operand operand;
    ldmatrix_x4(operand.words, tile.granule(first_row, lane() % 16, 2 * step ^ lane() / 16));
    return operand;
  }

  /// The same for multiply_scores' walked rows, whose words are in pairs for each 8 rows.
  template <int kColumns>
  __device__ __forceinline__ Operand walked_rows(const matrix::Tile<Unit, kColumns>& tile, int first_row,
                                                 int step) const {
    Operand operand;
    ldmatrix_x4(operand.words,
                tile.granule(first_row, lane() % 8 + lane() / 16 * 8, 2 * step ^ lane() / 8 % 2));
    return operand;
  }

  /// kBlocks operands of rows first_row .. + 15: columns first_column + 16 t .. + 15.
  template <bool kOfScores, int kBlocks, int kColumns>
  __device__ __forceinline__ void columns(Operand (&operands)[kBlocks],
                                          const matrix::Tile<Unit, kColumns>& tile, int first_row,
                                          int first_column) const {
    FMHA_BWD_UNROLL
    for (int t = 0; t < kBlocks; ++t) {
      ldmatrix_x4_trans(operands[t].words,
                        tile.granule(first_row, lane() % 16, (first_column / 8 + 2 * t) ^ lane() / 16));
    }
  }

  /// scores += owner walked^T.
  __device__ static __forceinline__ void multiply_scores(float (&scores)[kSums], const Operand& owner_rows,
                                                         const Operand& walked_rows) {
    multiply_halves(scores, owner_rows, walked_rows);
  }

  /// sums += left right.
  __device__ static __forceinline__ void multiply(float (&sums)[kSums], const Operand& left,
                                                  const Operand& right) {
    multiply_halves(sums, left, right);
  }

  /// Blocks of scores as a left operand, of 16 owner rows by kDepth walked rows.
  __device__ static __forceinline__ Operand left_of(const float (&scores)[1][kSums]) {
    Operand left;
    FMHA_BWD_UNROLL
    for (int i = 0; i < 4; ++i) left.words[i] = pack<T>(scores[0][2 * i], scores[0][2 * i + 1]);
    return left;
  }

  // dS of a tile is [keys, queries], in the words that left_of makes.
  template <int kKeys, int kQueries>
  using DsTile = matrix::Tile<Unit, kQueries>;

  /// Stores what left_of made of queries first_query .. + 15 and of the wave's keys from first_key on.
  template <int kBlocks, int kColumns>
  __device__ __forceinline__ void store_ds(const matrix::Tile<Unit, kColumns>& tile,
                                           const Operand (&ds)[kBlocks], int first_query,
                                           int first_key) const {
    FMHA_BWD_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int i = 0; i < 4; ++i) {
        std::byte* const to = tile.granule(first_key + 16 * b, owner(i % 2), first_query / 8 + i / 2);
        *reinterpret_cast<std::uint32_t*>(to + 4 * (lane() % 4)) = ds[b].words[i];
      }
    }
  }

  /// dS as a left operand, of queries first_query .. + 15 by keys kDepth * step .. + 15.
  template <int kColumns>
  __device__ __forceinline__ Operand ds_rows(const matrix::Tile<Unit, kColumns>& tile, int first_query,
                                             int step) const {
    Operand operand;
    ldmatrix_x4_trans(operand.words, tile.granule(16 * step, lane() / 16 * 8 + lane() % 8,
                                                  first_query / 8 ^ lane() / 8 % 2));
    return operand;
  }

  /// Of an owner row's value, each lane's own share, the combination over the lanes that have pairs of it.
  template <class Combine>
  __device__ __forceinline__ float combine_walked(float value, const Combine& combine) const {
    value = combine(value, __shfl_xor(value, 1));
    return combine(value, __shfl_xor(value, 2));
  }
  /// values of owner rows, by owner_index, as values of the rows of a result block.
  __device__ __forceinline__ float of_row(const float (&values)[kOwners], int r) const {
    return values[owner_index(r)];
  }

  /// Whether adjacent columns of a lane are in the sums of a block, or else in the blocks of a group.
  static constexpr bool kAdjacentSums = true;

 private:
  __device__ static __forceinline__ void multiply_halves(float (&sums)[kSums], const Operand& left,
                                                         const Operand& right) {
    const std::uint32_t(&w)[4] = right.words;
    mma_16x8x16<T>(*reinterpret_cast<float(*)[4]>(&sums[0]), left.words, {w[0], w[1]});
    mma_16x8x16<T>(*reinterpret_cast<float(*)[4]>(&sums[4]), left.words, {w[2], w[3]});
  }

  int lane_;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::mma
