// The warp of stage 2 that takes walks and loads their tiles.
//
// It runs ahead of the multiplying warpgroups, from walk to walk, as far as there is room:
//   Q, dO, LSE, D   a ring of kStages places, each free when both warpgroups are done with the visit
//   K               kKeyStages places: with two, the next walk's K comes while this one's is needed, for a
//                   walk's last dQ is made in the next walk; then the place is free
//   V               one place, of which each warpgroup has its own 64 rows, or above hdim 128 one has all:
//                   free when its last dP is made
//   the walk        comes with K, and is known until K is free
//   visits          kVisits of them: which tile, and whose turn (turns.h)
// So the next walk's first tile and its K are there before the walk ends, and V before the last sums are
// stored. Full and empty are told by a pair of barriers for each place.
#pragma once

#include "kernels/hopper/errands.h"
#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Says what visit number shared.loading.visits is.
template <bool kHasTurns, int kHeadDim>
__device__ __forceinline__ void make_visit_known(SharedMemory<kHeadDim>& shared, const Visit& visit) {
  const unsigned place = shared.loading.visits++ % kVisits;
  shared.visits[place] = visit;
  if (kHasTurns) barrier_arrive(shared.turn_known[place]);
}

/// Loads the next tile of the walk, Q with LSE and dO with D, into `stage`, which is free.
template <bool kNeedsHead, bool kHasTurns, int kHeadDim>
__device__ __forceinline__ void load_next_tile(const DqDkDvArguments<kHeadDim>& a,
                                               SharedMemory<kHeadDim>& shared, int stage) {
  using Tile = Tiling<kHeadDim>;
  constexpr unsigned kRowBytes = Tile::kM * sizeof(float);
  PlannedWalk& walk = shared.loading.walk;
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
  if (kNeedsHead) shared.head[stage] = walk.walk.batch * a.nhead_q + head;
  Visit visit = {index, 0, 0, false};
  if (kHasTurns) {
    visit.own = walk.turn.own;
    if (tile < walk.turn.awaited_end) visit.awaited = walk.turn.awaited;
  }
  make_visit_known<kHasTurns>(shared, visit);
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

/// Loads kRows rows of K or V, in `panels` boxes, from row first_key of the walk on; nothing where the walk
/// visits nothing.
template <int kHeadDim, int kRows>
__device__ __forceinline__ void load_keys(const PlannedWalk& walk, std::byte* to, const TensorMap& map,
                                          int panels, int first_key, Barrier& full) {
  if (walk.walk.tiles <= 0) {
    barrier_arrive(full);
    return;
  }
  barrier_arrive_expecting(full, static_cast<unsigned>(panels * kRows * kPanelRowBytes));
  FMHA_BWD_UNROLL
  for (int p = 0; p < panels; ++p) {
    load_tile(to + p * Tiling<kHeadDim>::kKeyPanelBytes, map, p * kPanelColumns, first_key, walk.walk.head_k,
              walk.keys, full);
  }
}

/// to = from, four registers at a time.
template <class T>
__device__ __forceinline__ void copy_in_quads(T& to, const T& from) {
  static_assert(sizeof(T) % sizeof(uint4) == 0);
  FMHA_BWD_UNROLL
  for (unsigned i = 0; i < sizeof(T) / sizeof(uint4); ++i) {
    reinterpret_cast<uint4*>(&to)[i] = reinterpret_cast<const uint4*>(&from)[i];
    asm volatile("" ::: "memory");
  }
}

/// Walks of a block that are known at a time, number n at n % kWalks: a walk is known until K is free, or
/// until the next is where wide.h frees K before it stores.
template <class Scores, int kHeadDim>
inline constexpr unsigned kWalks = Tiling<kHeadDim>::kWide ? 2U : unsigned{Scores::kKeyStages};

/// Makes the walk that is being loaded known with its K, when there is room for it, and loads its V.
template <class Scores, bool kErrands, int kHeadDim>
__device__ __forceinline__ void begin_walk(const DqDkDvArguments<kHeadDim>& a,
                                           SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  const PlannedWalk& walk = shared.loading.walk;
  const unsigned n = shared.loading.walks;
  constexpr unsigned kKeyStages = Scores::kKeyStages;
  const unsigned place = n % kKeyStages;
  barrier_wait((kErrands ? shared.told : shared.k_empty)[place], n / kKeyStages % 2 ^ 1);
  copy_in_quads(shared.walks[n % kWalks<Scores, kHeadDim>], walk.walk);
  load_keys<kHeadDim, Tile::kN>(walk, shared.k[place], a.k, Tile::kQPanels, walk.walk.first_key,
                                shared.k_full[place]);
  FMHA_BWD_UNROLL
  for (int part = 0; part < Tile::kVParts; ++part) {
    barrier_wait(shared.v_empty[part], n % 2 ^ 1);
    load_keys<kHeadDim, 64>(walk, shared.v + part * Tile::kVPartBytes, a.v, Tile::kVPanels,
                            walk.walk.first_key + 64 * part, shared.v_full[part]);
  }
}

/// gridDim.x, read anew: it need not hold a register meanwhile.
__device__ __forceinline__ unsigned blocks_of_grid() {
  unsigned blocks;
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
  return blocks;
}

/// Takes walks and loads their tiles, until there is no other walk; the first warp's part.
template <class Scores, bool kHasTurns, int kHeadDim>
__device__ __forceinline__ void load_walks(const DqDkDvArguments<kHeadDim>& a,
                                           SharedMemory<kHeadDim>& shared) {
  constexpr bool kErrands = kRunsErrands<Scores, kHasTurns>;
  int number = static_cast<int>(blockIdx.x);
  while (number < a.walks) {
    constexpr int kQuads = sizeof(PlannedWalk) / sizeof(uint4);
    static_assert(kQuads <= 32);
    const int lane = thread_of_warpgroup();
    if (lane < kQuads) {
      reinterpret_cast<uint4*>(&shared.loading.walk)[lane] =
          reinterpret_cast<const uint4*>(a.plan + number)[lane];
    }
    __syncwarp();
    if (threadIdx.x == 0) {
      auto& ring = shared.loading.ring;
      const Walk& walk = shared.loading.walk.walk;  // read anew each time, there are few registers
      int t = 0;
      do {
        if (t < walk.tiles) {
          if constexpr (kErrands) {
            if (t == 0) await_prepared(a, shared);
          }
          barrier_wait(shared.query_empty[ring.stage], ring.parity ^ 1);
          load_next_tile<Scores::kNeedsHead, kHasTurns>(a, shared, ring.stage);
          ring.advance();
        }
        if (t == 0) begin_walk<Scores, kErrands>(a, shared);
      } while (++t < walk.tiles);
      if constexpr (kErrands) load_errands(a, shared);
      ++shared.loading.walks;
      number = static_cast<int>(blocks_of_grid() + atomicAdd(a.walks_taken, 1U));
    }
    number = __shfl_sync(0xffffffffU, number, 0);
  }
  if (threadIdx.x == 0) {
    shared.loading.walk.walk.tiles = kNoWalk;
    begin_walk<Scores, kErrands>(a, shared);
    for (int thread = 0; kHasTurns && thread < 2; ++thread) {  // to each of those that pass turns on
      make_visit_known<kHasTurns>(shared, {0, 0, 0, true});
    }
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
