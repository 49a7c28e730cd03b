// Products of tiles of 32 rows in shared memory.
//
// A workgroup owns 32 rows (queries, or keys) and walks over the other side's, 32 at a time. Its 256 threads
// stand as 16 x 16: thread (ty, tx) has own rows ty and ty + 16, and of a tile of pairs the columns tx and
// tx + 16, of a result with the columns of a tensor 4 tx .. 4 tx + 3 of every 64. Tensors are read from
// memory element by element, 32 adjacent ones a row, which holds for any head dimension and alignment.
//
// Shared memory is read 16 bytes at a time, in rows padded by 4 floats: 8 threads that read 8 rows at once
// touch all 32 banks once. A read feeds 4 multiply-adds in dot_rows, 5.3 in add_product. What a tile
// contributes to a result is summed apart and then added, so that the error grows with the number of tiles
// and not of rows.
#pragma once

#include "kernels/plain/arguments.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {

inline constexpr int kOwn = kTile / kSide;  // rows of a tile that a thread has
inline constexpr int kPad = 4;
inline constexpr int kDepth = 32;  // columns that dot_rows takes at a time
inline constexpr int kWidth = 64;  // columns that add_product makes at a time, a part: 4 a thread

/// Workgroups that a multiprocessor should hold, with so many parts of results in each thread's registers.
constexpr int workgroups_for(int parts) { return parts <= 4 ? 2 : 1; }

template <int kColumns>
using Tile = float[kTile][kColumns + kPad];

/// The shared memory of a workgroup, 27.1 KB.
struct SharedTiles {
  alignas(16) Tile<kDepth> own;  // dot_rows' own rows
  Tile<kDepth> walked;           // and the others
  Tile<kTile> p;                 // [own, walked]: P Z
  Tile<kTile> dx;                // [own, walked]
  Tile<kWidth> factor;           // [walked, kWidth]: add_product's second factor
};

__device__ __forceinline__ int thread_row() { return static_cast<int>(threadIdx.x) / kSide; }
__device__ __forceinline__ int thread_column() { return static_cast<int>(threadIdx.x) % kSide; }

/// A Range of rows of one sequence, in half the registers.
struct Span {
  int begin = 0;
  int end = 0;

  Span() = default;
  __device__ __forceinline__ Span(const Range& range)
      : begin(static_cast<int>(range.begin)), end(static_cast<int>(range.end)) {}
  __device__ __forceinline__ bool contains(int row) const { return begin <= row && row < end; }
};

/// The first row of the first tile that holds any of `span`, or its end where it is empty.
__device__ __forceinline__ int first_tile(const Span& span) {
  return span.end <= span.begin ? span.end : span.begin / kTile * kTile;
}

/// The own rows `first` to `first` + kTile of `rows`.
__device__ __forceinline__ Range tile_range(int first, int rows) {
  return {first, first + kTile < rows ? first + kTile : rows};
}

/// tile[r][c] = source[first_row + r][first_column + c], 0 outside the source.
template <int kStride>
__device__ __forceinline__ void load(float (&tile)[kTile][kStride], const Rows<const float>& source,
                                     int first_row, int first_column) {
  constexpr int kColumns = kStride - kPad;
  const int row = static_cast<int>(threadIdx.x) / kColumns;
  const int column = static_cast<int>(threadIdx.x) % kColumns;
  const float* const from = source.row(first_row + row) + first_column + column;
  // Rows from `from` on.
  const int rows = first_column + column < source.columns ? source.rows - first_row - row : 0;
  FMHA_BWD_UNROLL
  for (int step = 0; step < kTile; step += kThreads / kColumns) {
    tile[row + step][column] = step < rows ? from[step * source.columns] : 0.0F;
  }
}

/// `from` starts on 16 bytes.
__device__ __forceinline__ void read_quad(const float* from, float (&to)[4]) {
  const float4 quad = *reinterpret_cast<const float4*>(from);
  to[0] = quad.x;
  to[1] = quad.y;
  to[2] = quad.z;
  to[3] = quad.w;
}

/// dots[i][j] = own[first_own + ty + 16 i] . walked[first_walked + tx + 16 j], which have as many columns.
/// Waits for all threads before it writes to shared memory.
__device__ __forceinline__ void dot_rows(SharedTiles& shared, const Rows<const float>& own, int first_own,
                                         const Rows<const float>& walked, int first_walked,
                                         float (&dots)[kOwn][kOwn]) {
  const int ty = thread_row();
  const int tx = thread_column();
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    FMHA_BWD_UNROLL
    for (int j = 0; j < kOwn; ++j) dots[i][j] = 0.0F;
  }
  for (int column = 0; column < own.columns; column += kDepth) {
    __syncthreads();
    load(shared.own, own, first_own, column);
    load(shared.walked, walked, first_walked, column);
    __syncthreads();
    FMHA_BWD_UNROLL_BY(2)
    for (int k = 0; k < kDepth; k += 4) {
      float a[kOwn][4];
      float b[kOwn][4];
      FMHA_BWD_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        read_quad(&shared.own[ty + kSide * i][k], a[i]);
        read_quad(&shared.walked[tx + kSide * i][k], b[i]);
      }
      FMHA_BWD_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        FMHA_BWD_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          FMHA_BWD_UNROLL
          for (int n = 0; n < 4; ++n) dots[i][j] += a[i][n] * b[j][n];
        }
      }
    }
  }
}

/// sums[part][i][c] += sum over k of pairs[ty + 16 i][k] walked[first_walked + k][64 part + 4 tx + c].
/// `pairs` is in shared memory; waits for all threads before it is read, and before it writes to
/// shared.factor.
template <int kParts>
__device__ __forceinline__ void add_product(SharedTiles& shared, const Tile<kTile>& pairs,
                                            const Rows<const float>& walked, int first_walked,
                                            float (&sums)[kParts][kOwn][4]) {
  const int ty = thread_row();
  const int tx = thread_column();
  FMHA_BWD_UNROLL
  for (int part = 0; part < kParts; ++part) {
    if (part * kWidth >= walked.columns) break;
    __syncthreads();
    load(shared.factor, walked, first_walked, part * kWidth);
    __syncthreads();
    float tile_sums[kOwn][4] = {};
    FMHA_BWD_UNROLL_BY(1)
    for (int k = 0; k < kTile; k += 4) {
      float a[kOwn][4];
      FMHA_BWD_UNROLL
      for (int i = 0; i < kOwn; ++i) read_quad(&pairs[ty + kSide * i][k], a[i]);
      FMHA_BWD_UNROLL
      for (int n = 0; n < 4; ++n) {
        float b[4];
        read_quad(&shared.factor[k + n][4 * tx], b);
        FMHA_BWD_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          FMHA_BWD_UNROLL
          for (int c = 0; c < 4; ++c) tile_sums[i][c] += a[i][n] * b[c];
        }
      }
    }
    FMHA_BWD_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      FMHA_BWD_UNROLL
      for (int c = 0; c < 4; ++c) sums[part][i][c] += tile_sums[i][c];
    }
  }
}

/// to[first_own + ty + 16 i][64 part + 4 tx + c] = factors[i] * sums[part][i][c], where that exists.
template <int kParts>
__device__ __forceinline__ void store(const Rows<float>& to, int first_own,
                                      const float (&sums)[kParts][kOwn][4], const float (&factors)[kOwn]) {
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const int row = first_own + thread_row() + kSide * i;
    if (row >= to.rows) break;
    FMHA_BWD_UNROLL
    for (int part = 0; part < kParts; ++part) {
      FMHA_BWD_UNROLL
      for (int c = 0; c < 4; ++c) {
        const int column = part * kWidth + 4 * thread_column() + c;
        if (column < to.columns) to.row(row)[column] = factors[i] * sums[part][i][c];
      }
    }
  }
}

/// The largest, or the sum, of `x` over the 16 threads of a row; the same bits in all of them.
__device__ __forceinline__ float row_largest(float x) {
  FMHA_BWD_UNROLL
  for (int lanes = 1; lanes < kSide; lanes *= 2) x = fmaxf(x, __shfl_xor(x, lanes, kSide));
  return x;
}
__device__ __forceinline__ float row_total(float x) {
  FMHA_BWD_UNROLL
  for (int lanes = 1; lanes < kSide; lanes *= 2) x += __shfl_xor(x, lanes, kSide);
  return x;
}

/// Calls `body.template operator()<kParts>()` with the least compiled number of kWidth columns that hold
/// `columns`.
template <class Body>
void with_parts(int columns, Body&& body) {
  if (columns <= kWidth) return body.template operator()<1>();
  if (columns <= 2 * kWidth) return body.template operator()<2>();
  if (columns <= 4 * kWidth) return body.template operator()<4>();
  return body.template operator()<8>();
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
