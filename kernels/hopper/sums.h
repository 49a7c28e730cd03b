// What the multiplying warpgroups of stage 2 do with their sums besides multiplying.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/rows_out.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Adds a thread's sums to [kCount / 4][128 threads][4] floats; `to` is the thread's place in the first of
/// them.
template <int kCount>
__device__ __forceinline__ void add_sums(float* to, const float (&sums)[kCount]) {
  FMHA_BWD_UNROLL
  for (int c = 0; c < kCount / 4; ++c) {
    add_to_global(to + c * 4 * kWarpgroup, sums[4 * c], sums[4 * c + 1], sums[4 * c + 2], sums[4 * c + 3]);
  }
}

/// A thread's place in half kHalf of dQ's accumulator, of the tile of a visit.
template <int kHalf, int kHeadDim>
__device__ __forceinline__ float* dq_of_visit(const DqDkDvArguments<kHeadDim>& a,
                                              const SharedMemory<kHeadDim>& shared, unsigned visit) {
  constexpr int kElements = Tiling<kHeadDim>::kQueryTileElements;
  const int tile = shared.visits[visit % kVisits].tile_index;
  return a.dq_acc + static_cast<std::int64_t>(tile) * kElements + kHalf * (kElements / 2) +
         4 * thread_of_warpgroup();
}

/// Reads back what add_sums has added to.
template <int kCount>
__device__ __forceinline__ void read_sums(float (&sums)[kCount], const float* from) {
  FMHA_BWD_UNROLL
  for (int c = 0; c < kCount / 4; ++c) {
    const float4 quad = __ldcg(reinterpret_cast<const float4*>(from) + c * kWarpgroup);
    sums[4 * c] = quad.x, sums[4 * c + 1] = quad.y, sums[4 * c + 2] = quad.z, sums[4 * c + 3] = quad.w;
  }
}

/// What a thread reads of LSE or D: those of the queries that are its columns of the scores.
template <int kM>
__device__ __forceinline__ void read_rows(float2 (&to)[kM / 8], const float* rows, int lane) {
  FMHA_BWD_UNROLL
  for (int j = 0; j < kM / 8; ++j) to[j] = *reinterpret_cast<const float2*>(rows + 2 * (lane % 4) + 8 * j);
}

/// After a warpgroup's additions to its sums of a shared tile of keys: true in the last walk to come, where
/// the sums are whole. All its threads call it, kHalf is which of the warpgroups it is.
template <int kHalf, int kHeadDim>
__device__ __forceinline__ bool is_last_to_add(const DqDkDvArguments<kHeadDim>& a,
                                               SharedMemory<kHeadDim>& shared, const Walk& walk) {
  __threadfence();
  named_barrier<kWarpgroup, 2 + kHalf>();
  if (thread_of_warpgroup() == 0) {
    __threadfence();
    shared.is_last[kHalf] =
        atomicAdd(a.arrivals + 2 * walk.shared + kHalf, 1U) + 1 == static_cast<unsigned>(walk.parts);
  }
  named_barrier<kWarpgroup, 2 + kHalf>();
  if (!shared.is_last[kHalf]) return false;
  __threadfence();
  return true;
}

/// Where half kHalf of a walk's dK and dV go; all of it where a half is all.
template <int kHalf>
__device__ __forceinline__ RowsOut rows_of_keys(const Walk& walk, std::uint16_t* to, const Strides& strides,
                                                int columns) {
  const int first = walk.first_key + 64 * kHalf;
  return {to + strides.offset_of({walk.batch, walk.head_k, walk.first_row_k + first, 0}), strides.row,
          walk.seqlen_k - first, columns};
}
template <int kHalf, int kHeadDim>
__device__ __forceinline__ RowsOut rows_of_dk(const DqDkDvArguments<kHeadDim>& a, const Walk& walk) {
  return rows_of_keys<kHalf>(walk, a.dk, a.dk_strides, a.hdim_q);
}
template <int kHalf, int kHeadDim>
__device__ __forceinline__ RowsOut rows_of_dv(const DqDkDvArguments<kHeadDim>& a, const Walk& walk) {
  return rows_of_keys<kHalf>(walk, a.dv, a.dv_strides, a.hdim_v);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
