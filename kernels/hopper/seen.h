// Which queries see which keys of a walk.
//
// Of a Staircase a key's first query, which may be before the first one that there is, is computed where it
// is wanted. Other masks, whose documents have to be searched for, have a table that stage 1 writes: of each
// key of the sequences the first query that sees it and the first that does not any more. In batch mode all
// sequences have the same.
#pragma once

#include <type_traits>

#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The queries that see a key: from x on, until y where the mask is not a Staircase; none past the last key.
template <class M, int kHeadDim>
__device__ __forceinline__ int2 queries_that_see(const DqDkDvArguments<kHeadDim>& a, const Walk& walk,
                                                 int key) {
  if constexpr (std::is_same_v<M, Staircase>) {
    return {key < walk.seqlen_k ? key - walk.diagonal : kNobody, kNobody};
  } else {
    return key < walk.seqlen_k ? __ldg(a.seen + walk.first_row_k + key) : int2{kNobody, 0};
  }
}

/// Whether a tile's scores of a half are not all seen, under a mask of type M.
template <class M, int kHalf, int kHeadDim>
__device__ __forceinline__ bool hides_some(const Walk& walk, int first_query) {
  return first_query < walk.all_seen_from[kHalf] ||
         (!std::is_same_v<M, Staircase> && first_query + Tiling<kHeadDim>::kM > walk.all_seen_end[kHalf]);
}

/// P = `hidden`, or what stands in P's place, where a mask of type M hides it from half kHalf of the keys.
template <class M, int kHalf, int kHeadDim>
__device__ __forceinline__ void hide_unseen(const DqDkDvArguments<kHeadDim>& a, const Walk& walk,
                                            float (&p)[Tiling<kHeadDim>::kM / 2], int first_query,
                                            float hidden = 0.0F) {
  constexpr int kM = Tiling<kHeadDim>::kM;
  const int thread = thread_of_warpgroup();
  const int key = walk.first_key + 64 * kHalf + thread / 32 * 16 + thread % 32 / 4;
  const int query = first_query + 2 * (thread % 4);
  const int2 seen0 = queries_that_see<M>(a, walk, key);
  const int2 seen8 = queries_that_see<M>(a, walk, key + 8);
  const int from0 = seen0.x - query;
  const int from8 = seen8.x - query;
  FMHA_BWD_UNROLL
  for (int j = 0; j < kM / 8; ++j) {
    if (8 * j < from0) p[4 * j] = hidden;
    if (8 * j + 1 < from0) p[4 * j + 1] = hidden;
    if (8 * j < from8) p[4 * j + 2] = hidden;
    if (8 * j + 1 < from8) p[4 * j + 3] = hidden;
  }
  if constexpr (!std::is_same_v<M, Staircase>) {
    const int end0 = seen0.y - query;
    const int end8 = seen8.y - query;
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
