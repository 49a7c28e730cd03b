// The warp of stage 2 that takes walks and loads their tiles.
//
// Tiles of Q and dO come in a ring; those of the next walk are loaded as soon as stages are free, while the
// multiplying warpgroups are at the end of theirs. K's place is free when dQ's last product is done, V's when
// dV, which leaves by it, has been read; then the next walk is made known.
#pragma once

#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Loads tile t of the walk that is being loaded, Q with LSE and dO with D, into `stage`, which is free.
template <bool kNeedsHead, bool kHasTurns, int kHeadDim>
__device__ __forceinline__ void load_next_tile(const DqDkDvArguments<kHeadDim>& a,
                                               SharedMemory<kHeadDim>& shared, int t, int stage) {
  using Tile = Tiling<kHeadDim>;
  const unsigned n = shared.walks_loaded;
  constexpr unsigned kRowBytes = Tile::kM * sizeof(float);
  Walk& walk = shared.loading;
  const int head = walk.next_head;
  const int tile = walk.next_tile;
  const int row = tile * Tile::kM;
  const MapPlace place = walk.queries;
  const int index = walk.plane_tile + head * a.plane_tiles + tile;
  int next_tile = tile + walk.step;
  if (next_tile == walk.end_tile) next_tile = walk.first_tile;
  if (next_tile < walk.first_tile) next_tile = walk.end_tile - 1;
  walk.next_tile = next_tile;
  if (next_tile == walk.start_tile) walk.next_head = head + 1;
  shared.first_query[stage] = row;
  if (kNeedsHead) shared.head[stage] = walk.queries.outer * a.nhead_q + head;
  shared.tile_index[n % 2][t % kVisits] = index;
  if (kHasTurns) {
    shared.awaited[n % 2][t % kVisits] = tile < walk.turn.awaited_end ? walk.turn.awaited : 0;
    barrier_arrive(shared.turn_known[shared.visits_known++ % kVisits]);
  }
  Barrier& full = shared.query_full[stage];
  barrier_arrive_expecting(full, Tile::kQBytes + Tile::kDoBytes + 2 * kRowBytes);
  const auto load = [&](std::byte* to, const TensorMap& map, int panels, float* rows_to, const float* rows) {
    FMHA_BWD_UNROLL
    for (int p = 0; p < panels; ++p) {
      load_tile(to + p * Tile::kQueryPanelBytes, map, p * kPanelColumns, row, head, place, full);
    }
    load_bytes(rows_to, rows + static_cast<std::int64_t>(index) * Tile::kM, kRowBytes, full);
  };
  load(shared.q[stage], a.q, Tile::kQPanels, shared.lse_log2[stage], a.lse_log2);
  load(shared.d_o[stage], a.d_o, Tile::kVPanels, shared.d[stage], a.d);
}

/// Loads K or V of the walk that is being loaded; nothing where it visits nothing.
template <int kHeadDim>
__device__ __forceinline__ void load_keys(SharedMemory<kHeadDim>& shared, std::byte* to, const TensorMap& map,
                                          int panels, Barrier& full) {
  constexpr int kPanelBytes = Tiling<kHeadDim>::kKeyPanelBytes;
  const Walk& walk = shared.loading;
  if (walk.tiles == 0) {
    barrier_arrive(full);
    return;
  }
  barrier_arrive_expecting(full, static_cast<unsigned>(panels * kPanelBytes));
  FMHA_BWD_UNROLL
  for (int p = 0; p < panels; ++p) {
    load_tile(to + p * kPanelBytes, map, p * kPanelColumns, walk.first_key, walk.head_k, walk.keys, full);
  }
}

/// Makes the walk that is being loaded known, when the one before has ended, and loads its K and V.
template <int kHeadDim>
__device__ __forceinline__ void begin_walk(const DqDkDvArguments<kHeadDim>& a,
                                           SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  const unsigned n = shared.walks_loaded;
  barrier_wait(shared.k_empty, n % 2 ^ 1);
  load_keys(shared, shared.k, a.k, Tile::kQPanels, shared.k_full);
  barrier_wait(shared.walk_empty, n % 2 ^ 1);
  load_keys(shared, shared.v, a.v, Tile::kVPanels, shared.v_full);
  shared.walk = shared.loading;
  barrier_arrive(shared.walk_full);
}

/// Takes walks and loads their tiles, until there is no other walk; the first warp's part.
template <bool kNeedsHead, bool kHasTurns, int kHeadDim>
__device__ __forceinline__ void load_walks(const DqDkDvArguments<kHeadDim>& a,
                                           SharedMemory<kHeadDim>& shared) {
  int number = static_cast<int>(blockIdx.x);
  while (number < a.walks) {
    constexpr int kWords = sizeof(Walk) / sizeof(int);
    static_assert(kWords <= 32);
    const int lane = thread_of_warpgroup();
    if (lane < kWords) {
      reinterpret_cast<int*>(&shared.loading)[lane] = reinterpret_cast<const int*>(a.plan + number)[lane];
    }
    __syncwarp();
    if (threadIdx.x == 0) {
      auto& ring = shared.loading_ring;
      const int tiles = shared.loading.tiles;
      int t = 0;
      do {
        if (t < tiles) {
          barrier_wait(shared.query_empty[ring.stage], ring.parity ^ 1);
          load_next_tile<kNeedsHead, kHasTurns>(a, shared, t, ring.stage);
          ring.advance();
        }
        if (t == 0) begin_walk(a, shared);
      } while (++t < tiles);
      number = static_cast<int>(gridDim.x + atomicAdd(a.walks_taken, 1U));
      if (number >= a.walks) {
        barrier_wait(shared.walk_empty, shared.walks_loaded % 2);
        shared.ends = true;
        barrier_arrive(shared.walk_full);
      }
      ++shared.walks_loaded;
    }
    number = __shfl_sync(0xffffffffU, number, 0);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
