// dQ's additions in a fixed order, for the same bits in every run.
//
// The blocks that visit a tile of queries add to its dQ in the order of their keys. A block passes its turn
// on by writing its key tile + 1 to the tile's counter, when its additions are done; the next one waits for
// that. Nobody else visits the tile between them: the tiles that blocks visit never move back from one tile
// of keys to the next. Walks go from a head's last tile to its first: under a causal mask all of its blocks
// begin at the same tile then, in the order in which they are started, and none waits for one that is started
// after it. (That blocks are started in the order of their numbers is what all such kernels rely on, and
// nothing promises.) When blocks have fallen as far behind one another as a turn takes, they stay there and
// wait no more.
//
// The multiplying warpgroups see none of a turn's way through memory: the warps that have nothing to load
// wait for the counter, and for the additions to arrive before they write it. They meet at barriers in
// shared memory, in rings of kTurns visits.
#pragma once

#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// A multiplying warpgroup's view; of nothing where additions are in any order. Visits are those of a walk.
template <bool kOrdered>
class Turns {
 public:
  /// A walk of `tiles` visits has ended.
  __device__ __forceinline__ void walk_ends(int tiles) {
    if (kOrdered) visits_ += tiles;
  }
  /// Waits for the turn to add to visit `visit`, which the visits before have had.
  template <class Shared>
  __device__ __forceinline__ void take(Shared& shared, int visit) const {
    if (!kOrdered) return;
    visit += visits_;
    barrier_wait(shared.turn_come[visit % kTurns], static_cast<unsigned>(visit / kTurns % 2));
  }
  /// The warp has added.
  template <class Shared>
  __device__ __forceinline__ void give(Shared& shared, int visit) const {
    if (!kOrdered) return;
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(shared.turn_done[(visits_ + visit) % kTurns]);
  }

 private:
  int visits_ = 0;  // of the block's walks before
};

/// What a multiplying warpgroup has to go on with from walk to walk.
template <int kHeadDim, bool kOrdered>
struct Progress {
  using Tile = Tiling<kHeadDim>;
  Ring<Tile::kStages> ring;
  Ring<Tile::kDsStages> ds_out;
  Ring<Tile::kDsStages> ds_in;  // behind
  Turns<kOrdered> turns;
};

/// Initialises the barriers.
template <class Shared>
__device__ __forceinline__ void init_turns(Shared& shared) {
  for (int i = 0; i < kTurns; ++i) {
    barrier_init(shared.turn_come[i], 1);
    barrier_init(shared.turn_done[i], 8);  // a lane of each multiplying warp
    barrier_init(shared.turn_given[i], 1);
  }
}

/// What the threads that take and pass on turns need of a walk.
template <int kHeadDim>
struct TurnWalk {
  int tiles;
  int first_tile;
  int end_tile;
  int before;
  int before_end_tile;
  int first_key;
  unsigned* counters;  // of the first head's tiles
  int tiles_of_plane;

  __device__ __forceinline__ TurnWalk(const DqDkDvArguments<kHeadDim>& a, const Walk& walk)
      : tiles(walk.tiles),
        first_tile(walk.first_tile),
        end_tile(walk.end_tile),
        before(walk.before),
        before_end_tile(walk.before_end_tile),
        first_key(walk.first_key),
        counters(a.turns + walk.plane_tile + walk.head_k * a.group_size * a.plane_tiles),
        tiles_of_plane(a.plane_tiles) {}

  /// Of a visit: its head's place in the group, and its tile.
  __device__ __forceinline__ int member_of(int visit) const { return visit / (end_tile - first_tile); }
  __device__ __forceinline__ int tile_of(int visit) const {
    return end_tile - 1 - (visit - member_of(visit) * (end_tile - first_tile));
  }
  __device__ __forceinline__ unsigned* counter_of(int visit) const {
    return counters + member_of(visit) * tiles_of_plane + tile_of(visit);
  }
};

/// Calls body(walk, first visit) for each of the block's walks that visits tiles; its visits are counted on
/// from those of the walks before.
template <int kHeadDim, class Body>
__device__ __forceinline__ void for_turn_walks(const DqDkDvArguments<kHeadDim>& a,
                                               SharedMemory<kHeadDim>& shared, const Body& body) {
  int visits = 0;
  for (unsigned n = 0;; ++n) {
    barrier_wait(shared.walk_full, n % 2);
    if (shared.ends) return;
    const TurnWalk<kHeadDim> walk(a, shared.walk);
    barrier_arrive(shared.walk_empty);
    body(walk, visits);
    visits += walk.tiles;
  }
}

/// The thread that waits for turns.
template <int kHeadDim>
__device__ __forceinline__ void await_turns(const DqDkDvArguments<kHeadDim>& a,
                                            SharedMemory<kHeadDim>& shared) {
  for_turn_walks(a, shared, [&](const TurnWalk<kHeadDim>& walk, int visits) {
    for (int v = 0; v < walk.tiles; ++v) {
      if (walk.tile_of(v) < walk.before_end_tile) {
        const unsigned* const counter = walk.counter_of(v);
        while (load_acquire(counter) != static_cast<unsigned>(walk.before + 1)) {
        }
      }
      const int visit = visits + v;
      barrier_wait(shared.turn_given[visit % kTurns], static_cast<unsigned>(visit / kTurns % 2) ^ 1);
      barrier_arrive(shared.turn_come[visit % kTurns]);
    }
  });
}

/// The threads that pass turns on, one of them those of even visits, the other those of odd ones: an addition
/// takes as long as the tile after it.
template <int kHeadDim>
__device__ __forceinline__ void pass_turns(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared,
                                           int parity) {
  for_turn_walks(a, shared, [&](const TurnWalk<kHeadDim>& walk, int visits) {
    const auto own = static_cast<unsigned>(walk.first_key / Tiling<kHeadDim>::kN + 1);
    for (int v = (visits + parity) % 2; v < walk.tiles; v += 2) {
      const int visit = visits + v;
      unsigned* const counter = walk.counter_of(v);
      barrier_wait(shared.turn_done[visit % kTurns], static_cast<unsigned>(visit / kTurns % 2));
      fence_and_store(counter, own);
      barrier_arrive(shared.turn_given[visit % kTurns]);
    }
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
