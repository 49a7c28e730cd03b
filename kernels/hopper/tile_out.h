// A warpgroup's sums on their way to a tensor: rounded, into a swizzled tile in shared memory, for the copy
// engine.
#pragma once

#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Bytes from the start of a swizzled panel to the lane's 16 bytes for `store_matrices`, of the first 16
/// columns of the warp's 16 rows; those of 16 columns further are ^ 32.
__device__ __forceinline__ std::uint32_t matrix_offset(int warp, int lane) {
  return static_cast<std::uint32_t>((16 * warp + lane % 16) * 128 + ((lane / 16) ^ (lane % 8)) * 16);
}

/// The matrices of columns 16 i to 16 i + 15 to their place in a swizzled tile; `to` is that of the first.
__device__ __forceinline__ void store_columns(std::uint32_t to, int i, int panel_bytes,
                                              const std::uint32_t (&words)[4]) {
  store_matrices(
      (to ^ static_cast<std::uint32_t>(i % 4 * 32)) + static_cast<std::uint32_t>(i / 4 * panel_bytes), words);
}

/// tile[row][column] = factor[row / 8 % 2] * sum, for the 64 x kColumns sums of a warpgroup (ptx/wgmma.h); a
/// panel has `panel_bytes`, matrix_row is the thread's matrix_offset. Visible to the copy engine after a
/// barrier.
template <class T, int kColumns>
__device__ __forceinline__ void tile_from_sums(std::byte* tile, int panel_bytes,
                                               const float (&sums)[kColumns / 2], float factor,
                                               float factor_of_row_8, std::uint32_t matrix_row) {
  const std::uint32_t to = shared_address(tile) + matrix_row;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kColumns / 16; ++i) {
    const float* const s = &sums[8 * i];
    const std::uint32_t words[4] = {
        pack<T>(s[0] * factor, s[1] * factor), pack<T>(s[2] * factor_of_row_8, s[3] * factor_of_row_8),
        pack<T>(s[4] * factor, s[5] * factor), pack<T>(s[6] * factor_of_row_8, s[7] * factor_of_row_8)};
    store_columns(to, i, panel_bytes, words);
  }
  fence_async_proxy();
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
