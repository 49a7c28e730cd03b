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

/// A multiplying warpgroup's view; of nothing where additions are in any order.
template <bool kOrdered>
struct Turns {
  /// Waits for the turn to add to visit `visit`, which the visits before have had.
  template <class Shared>
  static __device__ __forceinline__ void take(Shared& shared, int visit) {
    if constexpr (kOrdered) {
      barrier_wait(shared.turn_come[visit % kTurns], static_cast<unsigned>(visit / kTurns % 2));
    }
  }
  /// The warp has added.
  template <class Shared>
  static __device__ __forceinline__ void give(Shared& shared, int visit) {
    if constexpr (kOrdered) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(shared.turn_done[visit % kTurns]);
    }
  }
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

/// A visited tile of queries, of its head, and its counter.
struct Turn {
  int tile;
  unsigned* counter;
};

template <int kHeadDim>
__device__ __forceinline__ Turn turn_of_visit(const DqDkDvArguments<kHeadDim>& a, const Walk& walk,
                                              int visit) {
  const int tiles_a_head = walk.end_tile - walk.first_tile;
  const int member = visit / tiles_a_head;
  const int tile = walk.end_tile - 1 - (visit - member * tiles_a_head);
  const int head = walk.head_k * a.group_size + member;
  return {tile, a.turns + walk.plane_tile + head * a.planes.tiles + tile};
}

/// The thread that waits for turns.
template <int kHeadDim>
__device__ __forceinline__ void await_turns(const DqDkDvArguments<kHeadDim>& a,
                                            SharedMemory<kHeadDim>& shared) {
  const Walk& walk = shared.walk;
  for (int v = 0; v < walk.tiles; ++v) {
    const Turn turn = turn_of_visit(a, walk, v);
    if (turn.tile < walk.before_end_tile) {
      while (load_acquire(turn.counter) != static_cast<unsigned>(walk.before + 1)) {
      }
    }
    if (v >= kTurns) {
      barrier_wait(shared.turn_given[v % kTurns], static_cast<unsigned>((v / kTurns - 1) % 2));
    }
    barrier_arrive(shared.turn_come[v % kTurns]);
  }
}

/// The threads that pass turns on, one of them those of even visits, the other those of odd ones: an addition
/// takes as long as the tile after it.
template <int kHeadDim>
__device__ __forceinline__ void pass_turns(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared,
                                           int first_visit) {
  const Walk& walk = shared.walk;
  const auto own = static_cast<unsigned>(walk.first_key / Tiling<kHeadDim>::kN + 1);
  for (int v = first_visit; v < walk.tiles; v += 2) {
    unsigned* const counter = turn_of_visit(a, walk, v).counter;
    barrier_wait(shared.turn_done[v % kTurns], static_cast<unsigned>(v / kTurns % 2));
    fence_and_store(counter, own);
    barrier_arrive(shared.turn_given[v % kTurns]);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
