// Which queries see which keys of a walk.
#pragma once

#include <type_traits>

#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Notes which queries see the keys of half kHalf of the walk, under a mask of type M: each warp of the
/// half's warpgroup does for its own 16 of them.
template <class M, int kHalf, int kHeadDim>
__device__ __forceinline__ void note_seen(const DqDkDvArguments<kHeadDim>& a,
                                          SharedMemory<kHeadDim>& shared) {
  const int thread = thread_of_warpgroup();
  if (thread % 32 < 16) {
    const int row = thread / 32 * 16 + thread % 32;
    const int key = shared.walk.first_key + 64 * kHalf + row;
    const M mask = mask_of<M>(a, shared.walk);
    const Range queries = key < shared.walk.seqlen_k ? mask.visible_queries(key) : Range{kNobody, 0};
    shared.seen.first_by[kHalf][row] = static_cast<int>(queries.begin);
    if (!std::is_same_v<M, Staircase>) shared.seen.end_by[kHalf][row] = static_cast<int>(queries.end);
  }
  __syncwarp();
}

/// Whether a tile's scores of a half are not all seen, under a mask of type M.
template <class M, int kHalf, int kHeadDim>
__device__ __forceinline__ bool hides_some(const SharedMemory<kHeadDim>& shared, int first_query) {
  const Walk& walk = shared.walk;
  return first_query < walk.all_seen_from[kHalf] ||
         (!std::is_same_v<M, Staircase> && first_query + Tiling<kHeadDim>::kM > walk.all_seen_end[kHalf]);
}

/// P = `hidden`, or what stands in P's place, where a mask of type M hides it from half kHalf of the keys.
template <class M, int kHalf, int kHeadDim>
__device__ __forceinline__ void hide_unseen(float (&p)[Tiling<kHeadDim>::kM / 2],
                                            const SharedMemory<kHeadDim>& shared, int first_query, int lane,
                                            float hidden = 0.0F) {
  constexpr int kM = Tiling<kHeadDim>::kM;
  const int row = thread_of_warpgroup();
  const int key = row / 32 * 16 + row % 32 / 4;
  const auto& first_by = shared.seen.first_by[kHalf];
  const int from0 = first_by[key] - first_query - 2 * (lane % 4);
  const int from8 = first_by[key + 8] - first_query - 2 * (lane % 4);
  FMHA_BWD_UNROLL
  for (int j = 0; j < kM / 8; ++j) {
    if (8 * j < from0) p[4 * j] = hidden;
    if (8 * j + 1 < from0) p[4 * j + 1] = hidden;
    if (8 * j < from8) p[4 * j + 2] = hidden;
    if (8 * j + 1 < from8) p[4 * j + 3] = hidden;
  }
  if constexpr (!std::is_same_v<M, Staircase>) {
    const auto& end_by = shared.seen.end_by[kHalf];
    const int end0 = end_by[key] - first_query - 2 * (lane % 4);
    const int end8 = end_by[key + 8] - first_query - 2 * (lane % 4);
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
