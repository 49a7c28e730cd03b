// Scores of a tile: the products that they and their gradients are made by, and what makes P of S.
#pragma once

#include <hip/hip_runtime.h>
#include <matrix_core.h>

#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The warpgroup's part of the tile's left operand times the whole right one, given by their descriptors,
/// both with k along their kColumns columns: S^T of K and Q, dP^T of V and dO. Commits.
template <class T, int kHeadDim, int kColumns>
__device__ __forceinline__ void multiply_scores(float (&scores)[Tiling<kHeadDim>::kM / 2], std::uint64_t left,
                                                std::uint64_t right) {
  using Tile = Tiling<kHeadDim>;
  products_begin();
  FMHA_BWD_UNROLL
  for (int i = 0; i < kColumns / 16; ++i) {
    const std::uint64_t a = moved(left, i / 4 * Tile::kKeyPanelBytes + i % 4 * 32);
    const std::uint64_t b = moved(right, i / 4 * Tile::kQueryPanelBytes + i % 4 * 32);
    if (i == 0)
      multiply<T, Tile::kM, true, false, false>(scores, a, b);
    else
      multiply<T, Tile::kM, false, false, false>(scores, a, b);
  }
  products_commit();
}

/// P = exp2(scale_log2 S - LSE log2 e) in the place of S; `rows` are what read_rows has read.
template <int kM>
__device__ __forceinline__ void exponentiate(float (&s)[kM / 2], const float2 (&rows)[kM / 8],
                                             float scale_log2) {
  FMHA_BWD_UNROLL
  for (int j = 0; j < kM / 8; ++j) {
    s[4 * j] = exp2_approximate(s[4 * j] * scale_log2 - rows[j].x);
    s[4 * j + 1] = exp2_approximate(s[4 * j + 1] * scale_log2 - rows[j].y);
    s[4 * j + 2] = exp2_approximate(s[4 * j + 2] * scale_log2 - rows[j].x);
    s[4 * j + 3] = exp2_approximate(s[4 * j + 3] * scale_log2 - rows[j].y);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
