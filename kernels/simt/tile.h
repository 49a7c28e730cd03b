// Block-level building blocks of the simt family: loading tiles into shared memory, and small products over
// them.
//
// 256 threads stand as 16 x 16: thread (ty, tx) = (threadIdx.x / 16, threadIdx.x % 16) owns a register tile
// of the result. Tiles in shared memory are fp32 and row-major, each row padded by 4 floats: a row's start
// moves on by 4 banks, so that 8 threads that read 16 bytes of 8 rows at once touch all 32 banks once. Every
// product reads 16 bytes at a time, for 8 multiply-adds a read with tiles of 64 x 64 and 5 with 64 x 32.
#pragma once

#include "base/mask.h"
#include "kernels/element.h"
#include "kernels/unroll.h"
#include "kernels/view.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {

inline constexpr int kThreads = 256;
inline constexpr int kSide = 16;  // threads stand as kSide x kSide
inline constexpr int kPad = 4;
inline constexpr int kDepth = 32;  // columns of Q, K, dO, V that the score products take at a time
inline constexpr int kWidth = 64;  // columns of a result that the other products make at a time

/// Floats in shared memory of a tile with `columns` columns.
constexpr int tile_floats(int rows, int columns) { return rows * (columns + kPad); }

/// `from` starts on 16 bytes, or on 8 for a pair.
template <int kCount>
__device__ __forceinline__ void read_floats(const float* from, float (&to)[kCount]) {
  static_assert(kCount % 4 == 0 || kCount == 2);
  if constexpr (kCount == 2) {
    const float2 pair = *reinterpret_cast<const float2*>(from);
    to[0] = pair.x;
    to[1] = pair.y;
  } else {
    FMHA_BWD_UNROLL
    for (int i = 0; i < kCount; i += 4) {
      const float4 quad = *reinterpret_cast<const float4*>(from + i);
      to[i] = quad.x;
      to[i + 1] = quad.y;
      to[i + 2] = quad.z;
      to[i + 3] = quad.w;
    }
  }
}

/// tile[r][c] = source[first_row + r][first_column + c] for kRows x kColumns elements; zero outside the
/// source.
template <int kRows, int kColumns, class T>
__device__ __forceinline__ void load_tile(float* tile, const Rows<const T>& source, int first_row,
                                          int first_column) {
  constexpr int kPackSize = Pack<T>::kSize;
  constexpr int kPacksARow = kColumns / kPackSize;
  constexpr int kPacks = kRows * kPacksARow;
  // Heads start at multiples of the columns: where those and the stride are multiples of the pack, every row
  // starts on 16 bytes, and a pack is either inside or outside.
  const bool whole_packs = source.columns % kPackSize == 0 && source.stride % kPackSize == 0;
  const T* const start = source.row(first_row) + first_column;
  const int rows = source.rows - first_row;
  const int columns = source.columns - first_column;
  FMHA_BWD_UNROLL
  for (int first = 0; first < kPacks; first += kThreads) {
    const int index = first + static_cast<int>(threadIdx.x);
    if (kPacks % kThreads != 0 && index >= kPacks) break;
    const int row = index / kPacksARow;
    const int column = index % kPacksARow * kPackSize;
    Pack<T> pack = {};
    if (row < rows) {
      const T* from = start + static_cast<std::int64_t>(row) * source.stride + column;
      if (whole_packs) {
        if (column < columns) pack = *reinterpret_cast<const Pack<T>*>(from);
      } else {
        FMHA_BWD_UNROLL
        for (int i = 0; i < kPackSize; ++i) {
          if (column + i < columns) pack.elements[i] = from[i];
        }
      }
    }
    float* to = tile + row * (kColumns + kPad) + column;
    FMHA_BWD_UNROLL
    for (int i = 0; i < kPackSize; i += 4) {
      *reinterpret_cast<float4*>(to + i) =
          make_float4(to_float(pack.elements[i]), to_float(pack.elements[i + 1]),
                      to_float(pack.elements[i + 2]), to_float(pack.elements[i + 3]));
    }
  }
}

/// sum[i][j] += A[ty + 16 i][k] B[tx + 16 j][k], summed over kDepth columns k. A and B have kDepth columns.
template <int kI, int kJ>
__device__ __forceinline__ void multiply_abt(const float* a, const float* b, float (&sum)[kI][kJ]) {
  constexpr int kStride = kDepth + kPad;
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  FMHA_BWD_UNROLL_BY(1)
  for (int k = 0; k < kDepth; k += 4) {
    float a_part[kI][4];
    FMHA_BWD_UNROLL
    for (int i = 0; i < kI; ++i) read_floats(a + (ty + kSide * i) * kStride + k, a_part[i]);
    FMHA_BWD_UNROLL
    for (int j = 0; j < kJ; ++j) {
      float b_part[4];
      read_floats(b + (tx + kSide * j) * kStride + k, b_part);
      FMHA_BWD_UNROLL
      for (int i = 0; i < kI; ++i) {
        FMHA_BWD_UNROLL
        for (int kk = 0; kk < 4; ++kk) sum[i][j] += a_part[i][kk] * b_part[kk];
      }
    }
  }
}

/// sum[i][j] += A[k][kI ty + i] B[k][4 tx + j], summed over kSum rows k. A has kSide * kI columns, B has
/// kWidth.
template <int kI, int kSum>
__device__ __forceinline__ void multiply_atb(const float* a, const float* b, float (&sum)[kI][4]) {
  constexpr int kStrideA = kSide * kI + kPad;
  constexpr int kStrideB = kWidth + kPad;
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  FMHA_BWD_UNROLL_BY(8)
  for (int k = 0; k < kSum; ++k) {
    float a_part[kI];
    float b_part[4];
    read_floats(a + k * kStrideA + kI * ty, a_part);
    read_floats(b + k * kStrideB + 4 * tx, b_part);
    FMHA_BWD_UNROLL
    for (int i = 0; i < kI; ++i) {
      FMHA_BWD_UNROLL
      for (int j = 0; j < 4; ++j) sum[i][j] += a_part[i] * b_part[j];
    }
  }
}

/// sum[i][j] += A[ty + 16 i][k] B[k][4 tx + j], summed over kSum columns k of A. B has kWidth columns.
template <int kI, int kSum>
__device__ __forceinline__ void multiply_ab(const float* a, const float* b, float (&sum)[kI][4]) {
  constexpr int kStrideA = kSum + kPad;
  constexpr int kStrideB = kWidth + kPad;
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  FMHA_BWD_UNROLL_BY(2)
  for (int k = 0; k < kSum; k += 4) {
    float a_part[kI][4];
    FMHA_BWD_UNROLL
    for (int i = 0; i < kI; ++i) read_floats(a + (ty + kSide * i) * kStrideA + k, a_part[i]);
    FMHA_BWD_UNROLL
    for (int kk = 0; kk < 4; ++kk) {
      float b_part[4];
      read_floats(b + (k + kk) * kStrideB + 4 * tx, b_part);
      FMHA_BWD_UNROLL
      for (int i = 0; i < kI; ++i) {
        FMHA_BWD_UNROLL
        for (int j = 0; j < 4; ++j) sum[i][j] += a_part[i][kk] * b_part[j];
      }
    }
  }
}

/// to[row][column + j] = values[j] * factor where that exists.
template <class T>
__device__ __forceinline__ void store_row(const Rows<T>& to, int row, int column, const float (&values)[4],
                                          float factor) {
  if (row >= to.rows) return;
  T* const at = to.row(row) + column;
  FMHA_BWD_UNROLL
  for (int j = 0; j < 4; ++j) {
    if (column + j < to.columns) at[j] = from_float<T>(values[j] * factor);
  }
}

/// The columns of a tile that a row sees: `visible`, counted from the tile's first key.
struct Columns {
  int begin;
  int end;

  __device__ __forceinline__ Columns(const Range& visible, int first_key)
      : begin(static_cast<int>(visible.begin) - first_key), end(static_cast<int>(visible.end) - first_key) {}
  __device__ __forceinline__ bool contains(int column) const { return begin <= column && column < end; }
};

/// The starts of the tiles of `size` that hold `range`: from begin on, below end; none where it is empty.
struct Tiles {
  int begin;
  int end;

  __device__ __forceinline__ Tiles(const Range& range, int size)
      : begin(static_cast<int>(range.begin) / size * size),
        end(range.empty() ? begin : static_cast<int>(range.end)) {}
};

/// A row of a sequence, where workgroups have kSide rows each.
struct RowOfTile {
  std::int64_t sequence;
  std::int64_t head;
  int row;  // may be past the sequence's end
};

/// This thread's row: `block` counts tiles, then heads, then sequences.
__device__ __forceinline__ RowOfTile row_of_tile(unsigned block, unsigned tiles, int heads) {
  const unsigned head = block / tiles;
  const auto first = static_cast<int>(block % tiles) * kSide;
  return {head / static_cast<unsigned>(heads), head % static_cast<unsigned>(heads),
          first + static_cast<int>(threadIdx.x) / kSide};
}

/// The largest, or the sum, of `x` over the 16 threads that share ty.
__device__ __forceinline__ float row_max(float x) {
  FMHA_BWD_UNROLL
  for (int lane = kSide / 2; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor(x, lane, kSide));
  return x;
}
__device__ __forceinline__ float row_sum(float x) {
  FMHA_BWD_UNROLL
  for (int lane = kSide / 2; lane > 0; lane /= 2) x += __shfl_xor(x, lane, kSide);
  return x;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
