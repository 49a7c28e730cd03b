// dQ's additions in a fixed order, for the same bits in every run.
//
// The walks that visit a tile of queries add to its dQ in the order of their keys. A walk passes its turn on
// by writing its key tile + 1 to the tile's counter, when its additions are done; the next one waits for
// that. Nobody else visits the tile between them: the tiles that walks visit never move back from one tile of
// keys to the next. Walks go from a head's last tile to its first: under a causal mask all of its walks begin
// at the same tile then, in the order of their numbers, and none waits for one with a higher number, which
// may not have been taken.
//
// A turn takes some microseconds, so walks of a head that begin at the same moment wait for one another. The
// walks of several heads alternate (plan.h), so that in the time of a turn a block or two come to each head.
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
template <bool kHasTurns>
class Turns {
 public:
  /// A walk of `tiles` visits has ended.
  __device__ __forceinline__ void walk_ends(int tiles) {
    if (kHasTurns) visits_ += tiles;
  }
  /// Waits for the turn to add to visit `visit`, which the visits before have had.
  template <class Shared>
  __device__ __forceinline__ void take(Shared& shared, int visit) const {
    if (!kHasTurns) return;
    visit += visits_;
    barrier_wait(shared.turn_come[visit % kTurns], static_cast<unsigned>(visit / kTurns % 2));
  }
  /// The warp has added.
  template <class Shared>
  __device__ __forceinline__ void give(Shared& shared, int visit) const {
    if (!kHasTurns) return;
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(shared.turn_done[(visits_ + visit) % kTurns]);
  }

 private:
  int visits_ = 0;  // of the block's walks before
};

/// What a multiplying warpgroup has to go on with from walk to walk.
template <int kHeadDim, bool kHasTurns>
struct Progress {
  using Tile = Tiling<kHeadDim>;
  Ring<Tile::kStages> ring;
  Ring<Tile::kDsStages> ds_out;
  Ring<Tile::kDsStages> ds_in;  // behind
  Turns<kHasTurns> turns;
};

/// Initialises the barriers.
template <class Shared>
__device__ __forceinline__ void init_turns(Shared& shared) {
  for (int i = 0; i < kVisits; ++i) barrier_init(shared.turn_known[i], 1);
  for (int i = 0; i < kTurns; ++i) {
    barrier_init(shared.turn_come[i], 1);
    barrier_init(shared.turn_done[i], 8);  // a lane of each multiplying warp
    barrier_init(shared.turn_given[i], 1);
  }
}

/// Calls body(n, tiles, visits, own) for each of the block's walks that visits tiles: its number and its
/// visits, how many visits there were before, and what it writes to counters.
template <int kHeadDim, class Body>
__device__ __forceinline__ void for_turns(SharedMemory<kHeadDim>& shared, const Body& body) {
  int visits = 0;
  for (unsigned n = 0;; ++n) {
    barrier_wait(shared.walk_full, n % 2);
    if (shared.ends) return;
    const int tiles = shared.walk.tiles;
    const unsigned own = shared.walk.turn.own;
    barrier_arrive(shared.walk_empty);
    body(n, tiles, visits, own);
    visits += tiles;
  }
}

/// The thread that waits for turns.
template <int kHeadDim>
__device__ __forceinline__ void await_turns(const DqDkDvArguments<kHeadDim>& a,
                                            SharedMemory<kHeadDim>& shared) {
  for_turns(shared, [&](unsigned n, int tiles, int visits, unsigned /*own*/) {
    for (int t = 0; t < tiles; ++t) {
      const int visit = visits + t;
      barrier_wait(shared.turn_known[visit % kVisits], static_cast<unsigned>(visit / kVisits % 2));
      const unsigned awaited = shared.awaited[n % 2][t % kVisits];
      if (awaited > 0) {
        const unsigned* const counter = a.turns + shared.tile_index[n % 2][t % kVisits];
        while (load_acquire(counter) != awaited) {
        }
      }
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
  for_turns(shared, [&](unsigned n, int tiles, int visits, unsigned own) {
    for (int t = (visits + parity) % 2; t < tiles; t += 2) {
      const int visit = visits + t;
      barrier_wait(shared.turn_done[visit % kTurns], static_cast<unsigned>(visit / kTurns % 2));
      fence_and_store(a.turns + shared.tile_index[n % 2][t % kVisits], own);
      barrier_arrive(shared.turn_given[visit % kTurns]);
    }
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
