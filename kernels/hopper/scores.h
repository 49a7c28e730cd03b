// Scores of a tile: the products that they and their gradients are made by, and what makes P of S.
#pragma once

#include <hip/hip_runtime.h>
#include <matrix_core.h>

#include <type_traits>

#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The warpgroup's part of the tile's left operand times the whole right one, both with k along their
/// kColumns columns: S^T of K and Q, dP^T of V and dO. Commits.
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

/// Whether a tile's scores are not all seen, under a mask of type M.
template <class M, int kHeadDim>
__device__ __forceinline__ bool hides_some(const SharedMemory<kHeadDim>& shared, int first_query) {
  return first_query < shared.all_seen_by ||
         (!std::is_same_v<M, Staircase> && first_query + Tiling<kHeadDim>::kM > shared.end_all_seen_by);
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

/// P = `hidden`, or what stands in P's place, where a mask of type M hides it; first_key is the warpgroup's
/// first in the tile.
template <class M, int kHeadDim>
__device__ __forceinline__ void hide_unseen(float (&p)[Tiling<kHeadDim>::kM / 2],
                                            const SharedMemory<kHeadDim>& shared, int first_key,
                                            int first_query, int lane, float hidden = 0.0F) {
  constexpr int kM = Tiling<kHeadDim>::kM;
  const int row = thread_of_warpgroup();
  const int key = first_key + row / 32 * 16 + row % 32 / 4;
  const int from0 = shared.first_seen_by[key] - first_query - 2 * (lane % 4);
  const int from8 = shared.first_seen_by[key + 8] - first_query - 2 * (lane % 4);
  FMHA_BWD_UNROLL
  for (int j = 0; j < kM / 8; ++j) {
    if (8 * j < from0) p[4 * j] = hidden;
    if (8 * j + 1 < from0) p[4 * j + 1] = hidden;
    if (8 * j < from8) p[4 * j + 2] = hidden;
    if (8 * j + 1 < from8) p[4 * j + 3] = hidden;
  }
  if constexpr (!std::is_same_v<M, Staircase>) {
    const int end0 = shared.end_seen_by[key] - first_query - 2 * (lane % 4);
    const int end8 = shared.end_seen_by[key + 8] - first_query - 2 * (lane % 4);
    FMHA_BWD_UNROLL
    for (int j = 0; j < kM / 8; ++j) {
      if (8 * j >= end0) p[4 * j] = hidden;
      if (8 * j + 1 >= end0) p[4 * j + 1] = hidden;
      if (8 * j >= end8) p[4 * j + 2] = hidden;
      if (8 * j + 1 >= end8) p[4 * j + 3] = hidden;
    }
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
