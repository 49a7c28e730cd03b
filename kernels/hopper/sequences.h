// How the sequences of a problem stand in scratch, in the accumulator of dQ and in tensor maps.
//
// LSE, D and the accumulator have a plane of tiles of kM queries for each head of each batch index. In group
// mode the sequences share the planes of batch index 0: sequence n begins at tile first_q / kM + n of each,
// which leaves each of the sequences before it its last, partial tile.
//
// Keys of a sequence in group mode are cut into tiles of their own; the blocks of stage 2 find theirs by a
// table of how many tiles are before each sequence, which stage 1 writes.
#pragma once

#include "kernels/view.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The last of `count` sequences, at least one, whose `start` is `x` at the most; starts never decrease, and
/// the first is. Asked for by a whole warp: 32 are looked at at a time.
template <class Start>
__device__ __forceinline__ int last_sequence_from(int count, int x, const Start& start) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int begin = 0;
  int step = count;
  while (step > 1) {
    const int end = begin + step < count ? begin + step : count;
    step = (end - begin + 31) / 32;
    const int n = begin + lane * step;
    const bool reached = n < end && start(n) <= x;
    begin += (__popc(__ballot_sync(0xffffffffU, reached)) - 1) * step;
  }
  return begin;
}

/// Tiles before each of `count` sequences to before[0] .. before[count - 1]; by one warp.
template <class Tiles>
__device__ __forceinline__ void write_tiles_before(int* before, int count, const Tiles& tiles) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int share = (count + 31) / 32;
  const int begin = lane * share < count ? lane * share : count;
  const int end = begin + share < count ? begin + share : count;
  int own = 0;
  for (int n = begin; n < end; ++n) own += tiles(n);
  int sum = own;  // of this lane's and those before
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(0xffffffffU, sum, static_cast<unsigned>(distance));
    if (lane >= distance) sum += other;
  }
  sum -= own;
  for (int n = begin; n < end; ++n) {
    before[n] = sum;
    sum += tiles(n);
  }
}

/// A tile of queries: kM rows of one head of one sequence, some or all of which may be past its end.
struct QueryTile {
  int plane;
  int batch;
  int head;
  int first_query;
  int seqlen_q;
  int place;  // of the sequence's first row
};

/// The planes of a problem, and its sequences.
template <int kM>
struct Planes {
  const Sequence* sequences;  // [count] in group mode; nullptr in batch mode, where all have these lengths:
  int seqlen_q;
  int seqlen_k;
  int count;
  int nhead_q;
  int tiles;  // of a plane

  __device__ __forceinline__ bool grouped() const { return sequences != nullptr; }

  /// Of a plane's tiles, the first of sequence `index` in group mode.
  __device__ __forceinline__ int first_tile(int index) const {
    return static_cast<int>(sequences[index].first_q) / kM + index;
  }

  /// What tile number `tile` of all planes is; kGrouped is grouped(). Asked for by a whole warp.
  template <bool kGrouped>
  __device__ __forceinline__ QueryTile query_tile(int tile) const {
    const int plane = tile / tiles;
    const int of_plane = tile % tiles;
    if (!kGrouped) return {plane, plane / nhead_q, plane % nhead_q, of_plane * kM, seqlen_q, 0};
    const int index = last_sequence_from(count, of_plane, [&](int n) { return first_tile(n); });
    const Sequence& sequence = sequences[index];
    return {plane,
            0,
            plane,
            (of_plane - first_tile(index)) * kM,
            static_cast<int>(sequence.seqlen_q),
            static_cast<int>(sequence.place_q)};
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
