// Stage 2's work, walk by walk, and what a block of it keeps in shared memory.
//
// A walk is what is done for one tile of keys, or for a share of it (share_out.h). There is one block a
// multiprocessor, and each takes the next walk that nobody has taken when it comes to the end of one.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/hopper/divisor.h"
#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/sequences.h"
#include "kernels/hopper/staircase.h"
#include "kernels/hopper/tiling.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

inline constexpr int kNobody = 0x7fffffff;
inline constexpr int kNoWalk = -1;       // for a number of tiles: there is no other walk
inline constexpr unsigned kTurns = 4;    // visits on the way from one turn to the next, see turns.h
inline constexpr unsigned kVisits = 16;  // that are known of: loaded, multiplied, or on that way

/// Tiles of queries that a walk does stages 1 and 3 of (errands.h), by their number among those of all heads.
struct Errands {
  int prepares;
  int first_prepared;
  int converts;  // after those
  int first_converted;
};

/// What the multiplying warpgroups know of a walk.
struct alignas(16) Walk {
  int tiles;  // to visit
  int seqlen_k;
  int batch;
  int first_row_k;  // of the sequence, in group mode
  int head_k;
  int first_key;
  int diagonal;          // of a Staircase: query i sees the keys j <= i + diagonal
  int shared;            // which shared tile of keys it is; -1 where the walk owns its tile
  int parts;             // walks that visit part of it
  int all_seen_from[2];  // of each 64 of the keys: from this query on every one is seen; kNobody where none
                         // is
  int all_seen_end[2];   // and from this one on not any more
  int skipped;           // visits at first, 1 or none, in which the second 64 of the keys are not seen
  int key_head;          // among those of all sequences; -1 where nobody is told of the walk's end
  int places;            // of that head's, see errand_plan.h
  Errands errands;
};

/// A walk's turns to add to the tiles of queries that it visits (turns.h).
struct Turn {
  unsigned own;      // what it writes to a tile's counter when it has added
  unsigned awaited;  // what it waits for before it adds
  int awaited_end;   // to a tile before this one; it is the first to add to others
};

/// What the loading warp knows of it: the tiles of queries that it visits, those that see any of its keys, of
/// one head of the group after the other, from start_tile on and round. Walks of one head start at different
/// tiles, so that their additions to dQ don't meet, or where turns.h says.
struct alignas(16) PlannedWalk {
  Walk walk;
  MapPlace queries;  // of the sequence
  MapPlace keys;
  int plane_tile;  // of the sequence, in head 0's plane
  int first_tile;  // of a head
  int end_tile;    // of a head
  int start_tile;  // of a head
  int step;        // to the next tile: 1 or -1
  Turn turn;       // where additions to dQ have one
  int next_tile;   // to load
  int next_head;   // to load
};

/// What is known of a visit to a tile of queries besides the tile. A block's visits are counted through all
/// of its walks.
struct Visit {
  int tile_index;    // among the tiles of all heads
  unsigned awaited;  // what a turn is waited for with, 0 where there is none
  unsigned own;      // what it is passed on with
  bool ends;         // there is no such visit, nor one after it
};

/// What errands want; `prepared` is nullptr where there are none.
struct ErrandArguments {
  TensorMap o;        // [batch, nhead_q, seqlen_q, hdim_v], boxes of kM rows
  float* d;           // [batch, nhead_q, rows]
  float* padded_d;    // as in DqDkDvArguments
  std::uint16_t* dq;  // [batch, nhead_q, seqlen_q, hdim_q], by dq_strides
  Strides dq_strides;
  unsigned* prepared;  // [key heads of all sequences]: tiles
  unsigned* visited;   // [key heads of all sequences]: places (errand_plan.h) whose additions to dQ are done
  int seqlen_q;
  int rows;            // of d for each head: seqlen_q and padding
  int head_places;     // of visited, when all have been
  Divisor head_tiles;  // of prepared
  Divisor plane_tiles;
  Divisor nhead_q;
};

template <int kHeadDim>
struct DqDkDvArguments {
  TensorMap q;        // [batch, nhead_q, seqlen_q, hdim_q], boxes of kM rows
  TensorMap k;        // [batch, nhead_k, seqlen_k, hdim_q], boxes of kN rows
  TensorMap v;        // [batch, nhead_k, seqlen_k, hdim_v], boxes of 64 rows
  TensorMap d_o;      // [batch, nhead_q, seqlen_q, hdim_v], boxes of kM rows
  std::uint16_t* dk;  // [batch, nhead_k, seqlen_k, hdim_q], by dk_strides
  std::uint16_t* dv;  // [batch, nhead_k, seqlen_k, hdim_v], by dv_strides
  Strides dk_strides;
  Strides dv_strides;
  const float* lse_log2;  // [planes, plane_tiles, kM], see sequences.h
  const float* d;         // [planes, plane_tiles, kM]
  float* dq_acc;          // [planes, plane_tiles, kM * kHdimQ], see tiling.h
  float* sums;            // [shared tiles, kKeyTileElements], see launch.h
  unsigned* arrivals;     // [shared tiles, 2]
  unsigned* walks_taken;  // besides the first walk of each block
  unsigned* turns;  // [planes, plane_tiles] where additions to dQ are in order, see turns.h; else nullptr
  const PlannedWalk* plan;  // [walks], see plan.h
  const int2* seen;         // see seen.h
  ErrandArguments errands;
  float scale;
  float scale_log2;  // scale * log2 e
  int hdim_q;
  int hdim_v;
  int walks;
  int plane_tiles;
  int nhead_q;
};

/// What the loading thread has to go on with, which has few registers.
template <int kStages>
struct Loading {
  PlannedWalk walk;   // whose tiles it loads
  unsigned walks;     // before that one
  unsigned visits;    // whose tiles have been loaded
  int prepared_head;  // a key head whose tiles are all prepared, or -1
  int visited_head;   // one whose dQ is whole, or -1
  Ring<kStages> ring;
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
  std::byte k[Tile::kKeyStages][Tile::kKBytes];
  std::byte v[Tile::kVBytes];
  std::byte q[Tile::kStages][Tile::kQBytes];
  std::byte d_o[Tile::kStages][Tile::kDoBytes];
  std::byte ds[Tile::kDsStages][Tile::kDsTileBytes];
  float lse_log2[Tile::kStages][Tile::kM];
  float d[Tile::kStages][Tile::kM];
  Loading<Tile::kStages> loading;
  Walk walks[2];                   // number n of the block at [n % kWalks], see load.h
  Visit visits[kVisits];           // number t of the block at [t % kVisits]
  int first_query[Tile::kStages];  // of the tiles here
  int head[Tile::kStages];         // of them, among those of the batch; in batch mode, where it is asked for
  bool is_last[2];                 // of the walks of a shared tile of keys: each multiplying warpgroup's
  Barrier k_full[Tile::kKeyStages];  // K, and the walk
  Barrier k_empty[Tile::kKeyStages];
  Barrier v_full[Tile::kVParts];
  Barrier v_empty[Tile::kVParts];
  Barrier query_full[Tile::kStages];  // Q, LSE, dO and D
  Barrier query_empty[Tile::kStages];
  Barrier ds_full[Tile::kDsStages];
  Barrier ds_empty[Tile::kDsStages];
  Barrier prepared;                // by this block, for a walk
  Barrier told[Tile::kKeyStages];  // that the walk has ended
  Barrier turn_known[kVisits];
  Barrier turn_come[kTurns];
  Barrier turn_done[kTurns];
  Barrier turn_given[kTurns];
};

static_assert(sizeof(SharedMemory<64>) <= 227 * 1024 && sizeof(SharedMemory<128>) <= 227 * 1024 &&
              sizeof(SharedMemory<192>) <= 227 * 1024 &&
              sizeof(SharedMemory<head_dims(192, 128)>) <= 227 * 1024 &&
              sizeof(SharedMemory<256>) <= 227 * 1024);

/// What a multiplying warpgroup has to go on with from walk to walk.
template <int kHeadDim>
struct Progress {
  using Tile = Tiling<kHeadDim>;
  unsigned visits = 0;  // of the block, that have been begun
  Ring<Tile::kStages> ring;
  Ring<Tile::kDsStages> ds_out;
  Ring<Tile::kDsStages> ds_in;  // behind, by the visits whose dQ is not added yet
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
