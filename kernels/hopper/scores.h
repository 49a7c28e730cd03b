// The products of which the scores and their gradients are made.
#pragma once

#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/tiling.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The warpgroup's part of the tile's left operand times the whole right one, both with k along the columns:
/// of kColumns: S^T of K and Q, dP^T of V and dO. Commits.
template <class T, int kHeadDim, int kColumns>
__device__ __forceinline__ void multiply_scores(float (&scores)[Tiling<kHeadDim>::kM / 2],
                                                const std::byte* keys, const std::byte* queries) {
  using Tile = Tiling<kHeadDim>;
  const std::uint64_t left = descriptor(keys);
  const std::uint64_t right = descriptor(queries);
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

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
