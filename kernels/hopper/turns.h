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
// shared memory, in rings of kTurns visits, which are counted through all walks of a block.
#pragma once

#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// A multiplying warpgroup waits for the turn to add to dQ of visit `visit`, which the visits before have
/// had; nothing where additions are in any order.
template <bool kHasTurns, int kHeadDim>
__device__ __forceinline__ void take_turn(SharedMemory<kHeadDim>& shared, unsigned visit) {
  if (!kHasTurns) return;
  barrier_wait(shared.turn_come[visit % kTurns], visit / kTurns % 2);
}

/// The warp has added.
template <bool kHasTurns, int kHeadDim>
__device__ __forceinline__ void give_turn(SharedMemory<kHeadDim>& shared, unsigned visit) {
  if (!kHasTurns) return;
  __syncwarp();
  if (arrives(static_cast<int>(threadIdx.x) % 32)) barrier_arrive(shared.turn_done[visit % kTurns]);
}

/// Initialises the barriers.
template <class Shared>
__device__ __forceinline__ void init_turns(Shared& shared) {
  for (int i = 0; i < kVisits; ++i) barrier_init(shared.turn_known[i], 1);
  for (int i = 0; i < kTurns; ++i) {
    barrier_init(shared.turn_come[i], 1);
    barrier_init(shared.turn_done[i], 8 * kArrivals);  // multiplying warps
    barrier_init(shared.turn_given[i], 1);
  }
}

/// The thread that waits for turns.
template <int kHeadDim>
__device__ __forceinline__ void await_turns(const DqDkDvArguments<kHeadDim>& a,
                                            SharedMemory<kHeadDim>& shared) {
  for (unsigned visit = 0;; ++visit) {
    barrier_wait(shared.turn_known[visit % kVisits], visit / kVisits % 2);
    const Visit known = shared.visits[visit % kVisits];
    if (known.ends) return;
    if (known.awaited > 0) {
      while (load_acquire(a.turns + known.tile_index) != known.awaited) {
      }
    }
    barrier_wait(shared.turn_given[visit % kTurns], visit / kTurns % 2 ^ 1);
    barrier_arrive(shared.turn_come[visit % kTurns]);
  }
}

/// The threads that pass turns on, one of them those of even visits, the other those of odd ones: an addition
/// takes as long as the tile after it.
template <int kHeadDim>
__device__ __forceinline__ void pass_turns(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared,
                                           unsigned parity) {
  for (unsigned visit = parity;; visit += 2) {
    barrier_wait(shared.turn_known[visit % kVisits], visit / kVisits % 2);
    const Visit known = shared.visits[visit % kVisits];
    if (known.ends) return;
    barrier_wait(shared.turn_done[visit % kTurns], visit / kTurns % 2);
    fence_and_store(a.turns + known.tile_index, known.own);
    barrier_arrive(shared.turn_given[visit % kTurns]);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
