// Stage 2's work, walk by walk, and what a block of it keeps in shared memory.
//
// A walk is what is done for one tile of keys, or for a share of it (share_out.h). There is one block a
// multiprocessor, and each takes the next walk that nobody has taken when it comes to the end of one.
#pragma once

#include <type_traits>

#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/sequences.h"
#include "kernels/hopper/staircase.h"
#include "kernels/hopper/tiling.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

inline constexpr int kNobody = 0x7fffffff;
inline constexpr int kTurns = 4;    // visits on the way from one turn to the next, see turns.h
inline constexpr int kVisits = 16;  // that are known of: loaded, multiplied, or on that way

/// A walk's turns to add to the tiles of queries that it visits (turns.h).
struct Turn {
  unsigned own;      // what it writes to a tile's counter when it has added
  unsigned awaited;  // what it waits for before it adds
  int awaited_end;   // to a tile before this one; it is the first to add to others
};

/// The tiles of queries that a walk visits: those that see any of its keys, of one head of the group after
/// the other, from start_tile on and round. Walks of one head start at different tiles, so that their
/// additions to dQ don't meet, or where turns.h says.
struct alignas(16) Walk {
  int seqlen_q;
  int seqlen_k;
  MapPlace queries;  // of the sequence
  MapPlace keys;
  int plane_tile;  // of the sequence, in head 0's plane
  int head_k;
  int first_key;
  int tiles;             // to visit
  int first_tile;        // of a head
  int end_tile;          // of a head
  int start_tile;        // of a head
  int step;              // to the next tile: 1 or -1
  Turn turn;             // where additions to dQ have one
  int next_tile;         // to load
  int next_head;         // to load
  int shared;            // which shared tile of keys it is; -1 where the walk owns its tile
  int parts;             // walks that visit part of it
  int all_seen_from[2];  // of each 64 of the keys: from this query on every one is seen; kNobody where none
                         // is
  int all_seen_end[2];   // and from this one on not any more
};

template <int kHeadDim>
struct DqDkDvArguments {
  TensorMap q;            // [batch, nhead_q, seqlen_q, hdim_q], boxes of kM rows
  TensorMap k;            // [batch, nhead_k, seqlen_k, hdim_q], boxes of kN rows
  TensorMap v;            // [batch, nhead_k, seqlen_k, hdim_v], boxes of kN rows
  TensorMap d_o;          // [batch, nhead_q, seqlen_q, hdim_v], boxes of kM rows
  TensorMap dk;           // [batch, nhead_k, seqlen_k, hdim_q], boxes of 64 rows
  TensorMap dv;           // [batch, nhead_k, seqlen_k, hdim_v], boxes of 64 rows
  const float* lse_log2;  // [planes, plane_tiles, kM], see sequences.h
  const float* d;         // [planes, plane_tiles, kM]
  float* dq_acc;          // [planes, plane_tiles, kM * kHdimQ], see tiling.h
  float* sums;            // [shared tiles, kKeyTileElements], see launch.h
  unsigned* arrivals;     // [shared tiles]
  unsigned* walks_taken;  // besides the first walk of each block
  unsigned* turns;   // [planes, plane_tiles] where additions to dQ are in order, see turns.h; else nullptr
  const Walk* plan;  // [walks], see plan.h
  Staircase::Rule staircase;  // of a mask of that kind
  MaskRule mask;              // of one that is not
  float scale;
  float scale_log2;  // scale * log2 e
  int walks;
  int plane_tiles;
  int nhead_q;
  int group_size;
};

/// Which queries see the keys of a walk (seen.h); of a half, 64 of the keys.
template <int kHeadDim>
struct Seen {
  static constexpr int kHalves = Tiling<kHeadDim>::kN / 64;
  int first_by[kHalves][64];  // the first query that sees each key; seqlen_q or kNobody where there is none
  int end_by[kHalves][64];    // the first that does not any more; not of a Staircase
};

/// P on its way from one multiplying warpgroup to the other, in the order of its registers.
template <bool kWide>
struct SharedP {};
template <>
struct SharedP<true> {
  float p[8][kWarpgroup][4];
};

template <int kHeadDim>
struct alignas(1024) SharedMemory : SharedP<Tiling<kHeadDim>::kWide> {
  using Tile = Tiling<kHeadDim>;
  std::byte k[Tile::kKBytes];
  std::byte v[Tile::kVBytes];
  std::byte q[Tile::kStages][Tile::kQBytes];
  std::byte d_o[Tile::kStages][Tile::kDoBytes];
  std::byte ds[Tile::kDsStages][Tile::kDsTileBytes];
  float lse_log2[Tile::kStages][Tile::kM];
  float d[Tile::kStages][Tile::kM];
  int first_query[Tile::kStages];  // of the tiles here
  // Of visit t of walk n at [n % 2][t % kVisits]: the tile's number among those of all heads, and the turn
  // that is awaited before, 0 where there is none.
  int tile_index[2][kVisits];
  unsigned awaited[2][kVisits];
  Seen<kHeadDim> seen;
  bool is_last;  // of the walks of a shared tile of keys
  bool ends;     // there is no other walk
  Walk walk;
  Walk loading;  // the loading thread's: walk, or the one after it
  // The loading thread's, which has few registers:
  unsigned walks_loaded;
  unsigned visits_known;
  Ring<Tile::kStages> loading_ring;
  Barrier walk_full;
  Barrier walk_empty;
  Barrier k_full;
  Barrier k_empty;
  Barrier v_full;                     // V is free when the walk is
  Barrier query_full[Tile::kStages];  // Q, LSE, dO and D
  Barrier query_empty[Tile::kStages];
  Barrier ds_full[Tile::kDsStages];
  Barrier ds_empty[Tile::kDsStages];
  int head[Tile::kStages];  // of the tiles here, among those of the batch; in batch mode, where it is asked
                            // for
  Barrier turn_known[kVisits];
  Barrier turn_come[kTurns];
  Barrier turn_done[kTurns];
  Barrier turn_given[kTurns];
};

static_assert(sizeof(SharedMemory<64>) <= 227 * 1024 && sizeof(SharedMemory<128>) <= 227 * 1024 &&
              sizeof(SharedMemory<192>) <= 227 * 1024 &&
              sizeof(SharedMemory<head_dims(192, 128)>) <= 227 * 1024 &&
              sizeof(SharedMemory<256>) <= 227 * 1024);

/// The mask of the walk's sequence.
template <class M, int kHeadDim>
__device__ __forceinline__ M mask_of(const DqDkDvArguments<kHeadDim>& a, const Walk& walk) {
  if constexpr (std::is_same_v<M, Staircase>) {
    return Staircase(a.staircase, walk.seqlen_q, walk.seqlen_k);
  } else {
    return Mask(a.mask, walk.seqlen_q, walk.seqlen_k);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
