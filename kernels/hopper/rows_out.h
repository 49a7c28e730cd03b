// A warpgroup's sums on their way from registers to the rows of a tensor.
#pragma once

#include <cstdint>

#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// 64 rows of a tensor, or the first of them.
struct RowsOut {
  std::uint16_t* first;  // of 16-bit elements
  std::int64_t stride;   // elements
  int rows;              // that there are, from `first` on; none where it is negative
  int columns;           // a multiple of 8
};

/// Rounds factor * sum for the 64 x kColumns sums of a warpgroup (ptx/wgmma.h) and stores them from column
/// first_column on. Neighbouring lanes exchange, so that two of them write 8 bytes of the same row: each
/// store of a warp is of 32 bytes, a whole sector, in each of 8 rows.
template <class T, int kColumns>
__device__ __forceinline__ void store_rows(const RowsOut& to, int first_column,
                                           const float (&sums)[kColumns / 2], float factor) {
  const int thread = thread_of_warpgroup();
  const int row = thread / 32 * 16 + thread % 32 / 4;
  const bool odd = thread % 2 == 1;
  const int column_of_thread = first_column + (odd ? 8 : 0) + thread % 4 / 2 * 4;
  FMHA_BWD_UNROLL
  for (int eight = 0; eight < 2; ++eight) {
    std::uint16_t* const place = to.first + (row + 8 * eight) * to.stride + column_of_thread;
    FMHA_BWD_UNROLL
    for (int i = 0; i < kColumns / 16; ++i) {
      const float* const s = &sums[8 * i + 2 * eight];
      const std::uint32_t left = pack<T>(s[0] * factor, s[1] * factor);
      const std::uint32_t right = pack<T>(s[4] * factor, s[5] * factor);
      const std::uint32_t other = __shfl_xor(odd ? left : right, 1);
      if (row + 8 * eight < to.rows && column_of_thread + 16 * i < to.columns) {
        *reinterpret_cast<uint2*>(place + 16 * i) = odd ? uint2{other, right} : uint2{left, other};
      }
    }
  }
}

/// The same of the transposed sums: their 64 columns are the rows, their 64 rows the columns.
template <class T>
__device__ __forceinline__ void store_columns_as_rows(const RowsOut& to, const float (&sums)[32],
                                                      float factor) {
  const int thread = thread_of_warpgroup();
  const bool odd = thread % 2 == 1;
  const int row = thread % 32 / 4;
  const int column = thread / 32 * 16 + (odd ? 8 : 0) + thread % 4 / 2 * 4;
  std::uint16_t* const place = to.first + row * to.stride + column;
  FMHA_BWD_UNROLL
  for (int i = 0; i < 8; ++i) {
    const float* const s = &sums[4 * i];
    const std::uint32_t left = transposed(pack<T>(s[0] * factor, s[1] * factor));
    const std::uint32_t right = transposed(pack<T>(s[2] * factor, s[3] * factor));
    const std::uint32_t other = __shfl_xor(odd ? left : right, 1);
    if (row + 8 * i < to.rows && column < to.columns) {
      *reinterpret_cast<uint2*>(place + 8 * i * to.stride) = odd ? uint2{other, right} : uint2{left, other};
    }
  }
}

/// Zeros in their place.
__device__ __forceinline__ void store_zero_rows(const RowsOut& to) {
  const int thread = thread_of_warpgroup();
  for (int row = thread / 32; row < 64 && row < to.rows; row += 4) {
    for (int column = thread % 32 * 8; column < to.columns; column += 32 * 8) {
      *reinterpret_cast<uint4*>(to.first + row * to.stride + column) = uint4{};
    }
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
