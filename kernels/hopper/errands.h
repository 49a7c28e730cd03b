// Errands: stages 1 and 3 of some tiles of queries, done by the blocks of stage 2 in walks that have no keys.
//
// To prepare a tile is stage 1 for it (dot_do_o.hip has the formulas; that launch keeps LSE, and the plan): O
// and dO come into a stage of the ring, D of their rows goes out, and zeros to the accumulator of dQ. To
// convert it is stage 3 (convert_dq.hip): the accumulator comes into the stage, and dQ goes out.
// errand_plan.h says which walks have which tiles.
//
// Why it is fast: both are bound by memory, and what the other blocks do meanwhile is not. A tile's
// accumulator is zeroed, added to and read within some hundred walks, most of which the L2 cache holds.
//
// A walk over keys waits until all tiles of its key head are prepared, and to convert waits until all walks
// of the head have added to dQ: blocks count both for each head, in memory. A thread that has nothing to load
// does it when the multiplying warps have arrived: at `prepared` for what a walk prepares; for its additions
// at k_empty, that is in the first tile of the next walk, or before it if that has no keys. It tells the
// loading thread when it has counted: so none of these barriers is a phase ahead of it.
//
// No block waits for ever. To prepare waits for nothing, and comes before to convert in each walk; so what a
// walk over keys waits for, which walks before it in the order prepare, always comes. To convert waits for
// walks before it, each of which ends with the next walk of its block.
#pragma once

#include "kernels/element.h"
#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/rows_out.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Whether the walks of a variant may have errands.
template <class Scores, bool kHasTurns>
inline constexpr bool kRunsErrands = Scores::kErrands && !kHasTurns;

/// A tile of queries.
struct TilePlace {
  int batch;
  int head;
  int plane;
  int first_query;
};
template <int kHeadDim>
__device__ __forceinline__ TilePlace place_of_tile(const DqDkDvArguments<kHeadDim>& a, int index) {
  const int plane = a.errands.plane_tiles.quotient(index);
  const int batch = a.errands.nhead_q.quotient(plane);
  return {batch, plane - batch * a.nhead_q, plane, (index - plane * a.plane_tiles) * Tiling<kHeadDim>::kM};
}

/// Initialises the barriers.
template <class Shared>
__device__ __forceinline__ void init_errands(Shared& shared) {
  barrier_init(shared.prepared, 8 * kArrivals);  // multiplying warps
  for (Barrier& told : shared.told) barrier_init(told, 1);
}

/// Returns when counter `counter` has come to `count`.
__device__ __forceinline__ void await_count(const unsigned* counter, int count) {
  await_value(counter, static_cast<unsigned>(count));
  fence_async_proxy_of_global();
}

/// The loading thread waits until the tiles that the walk visits are prepared.
template <int kHeadDim>
__device__ __forceinline__ void await_prepared(const DqDkDvArguments<kHeadDim>& a,
                                               SharedMemory<kHeadDim>& shared) {
  const int head = shared.loading.walk.walk.key_head;
  if (head == shared.loading.prepared_head) return;
  await_count(a.errands.prepared + head, a.errands.head_tiles.value());
  shared.loading.prepared_head = head;
}

/// It loads O and dO of tile `index` into `stage`, which is free, O in Q's place.
template <int kHeadDim>
__device__ __forceinline__ void load_for_prepare(const DqDkDvArguments<kHeadDim>& a,
                                                 SharedMemory<kHeadDim>& shared, int index, int stage) {
  using Tile = Tiling<kHeadDim>;
  static_assert(Tile::kQBytes == Tile::kDoBytes);
  const TilePlace tile = place_of_tile(a, index);
  const MapPlace place = place_in_batch(tile.batch);
  Barrier& full = shared.query_full[stage];
  barrier_arrive_expecting(full, 2 * Tile::kDoBytes);
  FMHA_BWD_UNROLL
  for (int p = 0; p < Tile::kVPanels; ++p) {
    const int at = p * Tile::kQueryPanelBytes;
    const int column = p * kPanelColumns;
    load_tile(shared.q[stage] + at, a.errands.o, column, tile.first_query, tile.head, place, full);
    load_tile(shared.d_o[stage] + at, a.d_o, column, tile.first_query, tile.head, place, full);
  }
}

/// It loads the accumulator of tile `index`, when all have added, half of it to Q's place and half to dO's.
template <int kHeadDim>
__device__ __forceinline__ void load_for_convert(const DqDkDvArguments<kHeadDim>& a,
                                                 SharedMemory<kHeadDim>& shared, int index, int stage) {
  using Tile = Tiling<kHeadDim>;
  const int head = a.errands.head_tiles.quotient(index);
  if (head != shared.loading.visited_head) {
    await_count(a.errands.visited + head, a.errands.head_places);
    shared.loading.visited_head = head;
  }
  constexpr int kHalfElements = Tile::kQueryTileElements / 2;
  static_assert(kHalfElements * sizeof(float) == Tile::kQBytes);
  const float* const from = a.dq_acc + static_cast<std::int64_t>(index) * Tile::kQueryTileElements;
  Barrier& full = shared.query_full[stage];
  barrier_arrive_expecting(full, 2 * Tile::kQBytes);
  load_bytes(shared.q[stage], from, Tile::kQBytes, full);
  load_bytes(shared.d_o[stage], from + kHalfElements, Tile::kQBytes, full);
}

/// It loads what all errands of the walk want, as there is room for it.
template <int kHeadDim>
__device__ __forceinline__ void load_errands(const DqDkDvArguments<kHeadDim>& a,
                                             SharedMemory<kHeadDim>& shared) {
  const Errands& errands = shared.loading.walk.walk.errands;
  auto& ring = shared.loading.ring;
  for (int i = 0; i < errands.prepares; ++i) {
    barrier_wait(shared.query_empty[ring.stage], ring.parity ^ 1);
    load_for_prepare(a, shared, errands.first_prepared + i, ring.stage);
    ring.advance();
  }
  for (int i = 0; i < errands.converts; ++i) {
    barrier_wait(shared.query_empty[ring.stage], ring.parity ^ 1);
    load_for_convert(a, shared, errands.first_converted + i, ring.stage);
    ring.advance();
  }
}

/// The multiplying warp has read the stage of an errand.
template <int kHeadDim>
__device__ __forceinline__ void free_stage(SharedMemory<kHeadDim>& shared, int stage) {
  __syncwarp();
  if (arrives(thread_of_warpgroup() % 32)) barrier_arrive(shared.query_empty[stage]);
}

/// Stage 1 for half kHalf of the rows of a tile whose O stands in Q's place. Eight threads have a row, a warp
/// rows that follow one another, so that it writes whole sectors of D.
template <class T, int kHeadDim, int kHalf>
__device__ __forceinline__ void prepare_tile(const DqDkDvArguments<kHeadDim>& a,
                                             SharedMemory<kHeadDim>& shared, int index,
                                             Ring<Tiling<kHeadDim>::kStages> ring) {
  using Tile = Tiling<kHeadDim>;
  constexpr int kSharers = kPanelRowBytes / sizeof(uint4);
  constexpr int kRows = 32 / kSharers;           // of a warp at a time
  constexpr int kRowsOfWarp = Tile::kM / 2 / 4;  // of all its times
  constexpr int kSteps = kRowsOfWarp / kRows;
  const int thread = thread_of_warpgroup();
  const int lane = thread % 32;
  const int first_row = kHalf * (Tile::kM / 2) + thread / 32 * kRowsOfWarp;
  const TilePlace tile = place_of_tile(a, index);
  const int left = a.errands.seqlen_q - tile.first_query;
  const std::int64_t at = static_cast<std::int64_t>(tile.plane) * a.errands.rows + tile.first_query;
  float4* const zeros =
      reinterpret_cast<float4*>(a.dq_acc + static_cast<std::int64_t>(index) * Tile::kQueryTileElements) +
      kHalf * (Tile::kQueryTileElements / 8) + thread;
  FMHA_BWD_UNROLL
  for (int i = 0; i < Tile::kQueryTileElements / 8; i += kWarpgroup) zeros[i] = float4{};

  barrier_wait(shared.query_full[ring.stage], ring.parity);
  float sums[kSteps] = {};
  FMHA_BWD_UNROLL
  for (int i = 0; i < kSteps; ++i) {
    FMHA_BWD_UNROLL
    for (int p = 0; p < Tile::kVPanels; ++p) {
      // Both tiles are swizzled alike.
      const int place = p * Tile::kQueryPanelBytes +
                        (first_row + i * kRows + lane / kSharers) * kPanelRowBytes + lane % kSharers * 16;
      const auto o = *reinterpret_cast<const Pack<T>*>(shared.q[ring.stage] + place);
      const auto d_o = *reinterpret_cast<const Pack<T>*>(shared.d_o[ring.stage] + place);
      FMHA_BWD_UNROLL
      for (int j = 0; j < Pack<T>::kSize; ++j) {
        sums[i] += to_float(d_o.elements[j]) * to_float(o.elements[j]);
      }
    }
  }
  free_stage(shared, ring.stage);
  float sum = 0.0F;  // of row first_row + lane
  FMHA_BWD_UNROLL
  for (int i = 0; i < kSteps; ++i) {
    FMHA_BWD_UNROLL
    for (int distance = kSharers / 2; distance > 0; distance /= 2) sums[i] += __shfl_xor(sums[i], distance);
    const float of_row = __shfl_sync(0xffffffffU, sums[i], lane % kRows * kSharers);
    if (lane / kRows == i) sum = of_row;
  }
  const int row = first_row + lane;
  if (lane < kRowsOfWarp) {
    if (row < left) a.errands.d[at + row] = sum;
    a.errands.padded_d[static_cast<std::int64_t>(index) * Tile::kM + row] = sum;
  }
}

/// Stage 3 for half kHalf of a tile whose accumulator is in the stage.
template <class T, int kHeadDim, int kHalf>
__device__ __forceinline__ void convert_tile(const DqDkDvArguments<kHeadDim>& a,
                                             SharedMemory<kHeadDim>& shared, int index,
                                             Ring<Tiling<kHeadDim>::kStages> ring) {
  const TilePlace tile = place_of_tile(a, index);
  const int first_query = tile.first_query + (kHeadDim == 64 ? 64 * kHalf : 0);
  const RowsOut to = {a.errands.dq + a.errands.dq_strides.offset_of({tile.batch, tile.head, first_query, 0}),
                      a.errands.dq_strides.row, a.errands.seqlen_q - first_query, a.hdim_q};
  barrier_wait(shared.query_full[ring.stage], ring.parity);
  float sums[32];
  const auto* const from =
      reinterpret_cast<const float4*>(kHalf == 0 ? shared.q[ring.stage] : shared.d_o[ring.stage]) +
      thread_of_warpgroup();
  FMHA_BWD_UNROLL
  for (int c = 0; c < 8; ++c) {
    const float4 quad = from[c * kWarpgroup];
    sums[4 * c] = quad.x, sums[4 * c + 1] = quad.y, sums[4 * c + 2] = quad.z, sums[4 * c + 3] = quad.w;
  }
  free_stage(shared, ring.stage);
  if constexpr (kHeadDim == 64) {
    store_columns_as_rows<T>(to, sums, a.scale);
  } else {
    store_rows<T, 64>(to, 64 * kHalf, sums, a.scale);
  }
}

/// A multiplying warpgroup's half of all errands of a walk.
template <class T, int kHeadDim, int kHalf>
__device__ __forceinline__ void run_errands(const DqDkDvArguments<kHeadDim>& a,
                                            SharedMemory<kHeadDim>& shared, const Errands& errands,
                                            Ring<Tiling<kHeadDim>::kStages>& ring) {
  const int prepares = errands.prepares;
  const int converts = errands.converts;
  for (int i = 0; i < prepares; ++i) {
    prepare_tile<T, kHeadDim, kHalf>(a, shared, errands.first_prepared + i, ring);
    ring.advance();
  }
  __syncwarp();
  if (prepares > 0 && arrives(thread_of_warpgroup() % 32)) barrier_arrive(shared.prepared);
  __syncwarp();
  for (int i = 0; i < converts; ++i) {
    convert_tile<T, kHeadDim, kHalf>(a, shared, errands.first_converted + i, ring);
    ring.advance();
  }
  __syncwarp();
}

/// The thread that counts what walks of the block have prepared and added to.
template <int kHeadDim>
__device__ __forceinline__ void tell_of_walks(const DqDkDvArguments<kHeadDim>& a,
                                              SharedMemory<kHeadDim>& shared) {
  constexpr unsigned kPlaces = Tiling<kHeadDim>::kKeyStages;
  unsigned preparations = 0;
  for (unsigned n = 0;; ++n) {
    const unsigned place = n % kPlaces;
    const unsigned parity = n / kPlaces % 2;
    barrier_wait(shared.k_full[place], parity);
    const Walk& walk = shared.walks[place];
    if (walk.tiles == kNoWalk) return;
    if (walk.errands.prepares > 0) {
      barrier_wait(shared.prepared, preparations++ % 2);
      fence_gpu();
      const int tiles = a.errands.head_tiles.value();
      const int end = walk.errands.first_prepared + walk.errands.prepares;
      int index = walk.errands.first_prepared;
      do {  // a head
        const int head = a.errands.head_tiles.quotient(index);
        const int next = (head + 1) * tiles < end ? (head + 1) * tiles : end;
        add_to_count(a.errands.prepared + head, static_cast<unsigned>(next - index));
        index = next;
      } while (index < end);
    }
    barrier_wait(shared.k_empty[place], parity);
    if (walk.key_head >= 0) {
      fence_gpu();
      add_to_count(a.errands.visited + walk.key_head, static_cast<unsigned>(walk.places));
    }
    barrier_arrive(shared.told[place]);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
