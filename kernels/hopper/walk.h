// What a block of stage 2 keeps in shared memory, and the thread that loads its tiles.
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
inline constexpr int kTurns = 4;  // visits on the way from one turn to the next, see turns.h

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
  unsigned* turns;  // [planes, plane_tiles] where additions to dQ are in order, see turns.h; else nullptr
  Planes<Tiling<kHeadDim>::kM> planes;
  const int* key_tiles_before;  // [batch] in group mode, see launch.h
  Staircase::Rule staircase;    // of a mask of that kind
  MaskRule mask;                // of one that is not
  float scale;
  float scale_log2;  // scale * log2 e
  int key_tiles;     // of a head in batch mode
  int nhead_k;
  int group_size;
  int owned;  // see share_out.h
  int parts;
};

/// The tiles of queries that a block visits: those that see any of its keys, of one head of the group after
/// the other, from start_tile on and round. Blocks of one head start at different tiles, so that their
/// additions to dQ don't meet; those that add in order go from the last tile to the first (turns.h).
struct Walk {
  int seqlen_q;
  int seqlen_k;
  MapPlace queries;  // of the sequence
  MapPlace keys;
  int plane_tile;  // of the sequence, in head 0's plane
  int head_k;
  int first_key;
  int tiles;            // to visit
  int first_tile;       // of a head
  int end_tile;         // of a head
  int start_tile;       // of a head
  int step;             // to the next tile: 1, or -1 where additions to dQ are in order
  int before;           // then the tile of keys before this one that is visited too
  int before_end_tile;  // and the end of its walk; 0 where there is none
  int next_tile;        // to load
  int next_head;        // to load
  int shared;           // which shared tile of keys it is; -1 where the block owns its tile
  int parts;            // blocks that visit part of it
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
  int tile_index[8];               // of visit t at t % 8: the tile's among those of all heads
  int first_seen_by[Tile::kN];  // the first query that sees each key; seqlen_q or kNobody where there is none
  int end_seen_by[Tile::kN];    // the first that does not any more; not of a Staircase
  int all_seen_by;              // from this query on every key is seen; kNobody where there is none
  int end_all_seen_by;          // from this one on not any more; not of a Staircase
  bool is_last;                 // of the blocks of a shared tile of keys
  Walk walk;
  Barrier k_full;
  Barrier v_full;
  Barrier query_full[Tile::kStages];  // Q, LSE, dO and D
  Barrier query_empty[Tile::kStages];
  Barrier ds_full[Tile::kDsStages];
  Barrier ds_empty[Tile::kDsStages];
  int head[Tile::kStages];  // of the tiles here, among those of the batch; in batch mode, where it is asked
                            // for
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

/// The walk of this block, under a mask of type M. Its `tiles` is 0 where nothing is to be visited: no query
/// sees the keys, or other blocks visit all. Asked for by a whole warp.
template <class M, bool kOrdered, int kHeadDim>
__device__ __forceinline__ Walk walk_of_block(const DqDkDvArguments<kHeadDim>& a) {
  using Tile = Tiling<kHeadDim>;
  const int block = static_cast<int>(blockIdx.x);
  const bool owns = block < a.owned;
  const int part = owns ? 0 : (block - a.owned) % a.parts;
  const int shared = owns ? -1 : (block - a.owned) / a.parts;
  const int tile = owns ? block : a.owned + shared;

  Walk walk = {};
  int key_tiles = a.key_tiles;
  int of_sequence = 0;  // among the tiles of its heads
  if (a.planes.grouped()) {
    const auto before = [&](int n) { return a.key_tiles_before[n] * a.nhead_k; };
    const int index = last_sequence_from(a.planes.count, tile, before);
    const Sequence& sequence = a.planes.sequences[index];
    of_sequence = tile - before(index);
    walk.seqlen_q = static_cast<int>(sequence.seqlen_q);
    walk.seqlen_k = static_cast<int>(sequence.seqlen_k);
    walk.queries = place_in_group(sequence.place_q, sequence.seqlen_q);
    walk.keys = place_in_group(sequence.place_k, sequence.seqlen_k);
    walk.plane_tile = a.planes.first_tile(index);
    key_tiles = (walk.seqlen_k + Tile::kN - 1) / Tile::kN;
  } else {
    const int tiles = key_tiles * a.nhead_k;
    const int index = tile / tiles;
    of_sequence = tile - index * tiles;
    walk.seqlen_q = a.planes.seqlen_q;
    walk.seqlen_k = a.planes.seqlen_k;
    walk.queries = walk.keys = place_in_batch(index);
    walk.plane_tile = index * a.planes.nhead_q * a.planes.tiles;
  }
  walk.head_k = of_sequence / key_tiles;
  const int key_tile = of_sequence - walk.head_k * key_tiles;
  walk.first_key = key_tile * Tile::kN;
  const M mask = mask_of<M>(a, walk);
  const auto end_of_keys = [&](int first_key) {
    return first_key + Tile::kN < walk.seqlen_k ? first_key + Tile::kN : walk.seqlen_k;
  };
  const Range queries = mask.queries_of({walk.first_key, end_of_keys(walk.first_key)});
  const auto end_tile_of = [](const Range& of) {
    return (static_cast<int>(of.end) + Tile::kM - 1) / Tile::kM;
  };
  walk.first_tile = static_cast<int>(queries.begin) / Tile::kM;
  walk.end_tile = queries.empty() ? walk.first_tile : end_tile_of(queries);
  const int tiles_a_head = walk.end_tile - walk.first_tile;
  const int all_tiles = tiles_a_head * a.group_size;
  if (all_tiles == 0) return walk;

  walk.shared = shared;
  walk.parts = owns ? 1 : (a.parts < all_tiles ? a.parts : all_tiles);
  walk.step = 1;
  if (kOrdered) {
    for (int before = key_tile - 1; before >= 0 && walk.before_end_tile == 0; --before) {
      const int first = before * Tile::kN;
      const Range earlier = mask.queries_of({first, end_of_keys(first)});
      if (earlier.end <= walk.first_tile * Tile::kM) break;  // the more so those before it
      if (earlier.empty()) continue;
      walk.before = before;
      walk.before_end_tile = end_tile_of(earlier);
    }
    walk.step = -1;
    walk.tiles = all_tiles;
    walk.start_tile = walk.end_tile - 1;
    walk.next_tile = walk.start_tile;
    walk.next_head = walk.head_k * a.group_size;
    return walk;
  }
  if (part >= walk.parts) return walk;
  if (owns) {
    walk.tiles = all_tiles;
    walk.start_tile = walk.first_tile + key_tile % tiles_a_head;
    walk.next_tile = walk.start_tile;
    walk.next_head = walk.head_k * a.group_size;
    return walk;
  }
  const int begin = static_cast<int>(static_cast<std::int64_t>(all_tiles) * part / walk.parts);
  const int end = static_cast<int>(static_cast<std::int64_t>(all_tiles) * (part + 1) / walk.parts);
  walk.tiles = end - begin;
  walk.start_tile = walk.first_tile;
  walk.next_tile = walk.first_tile + begin % tiles_a_head;
  walk.next_head = walk.head_k * a.group_size + begin / tiles_a_head;
  return walk;
}

/// Loads tile t of the walk, Q with LSE and dO with D, into `stage`, which is free.
template <bool kNeedsHead, int kHeadDim>
__device__ __forceinline__ void load_next_tile(const DqDkDvArguments<kHeadDim>& a,
                                               SharedMemory<kHeadDim>& shared, int t, int stage) {
  using Tile = Tiling<kHeadDim>;
  constexpr unsigned kRowBytes = Tile::kM * sizeof(float);
  Walk& walk = shared.walk;
  const int head = walk.next_head;
  const int tile = walk.next_tile;
  const int row = tile * Tile::kM;
  const MapPlace place = walk.queries;
  const int index = walk.plane_tile + head * a.planes.tiles + tile;
  int next_tile = tile + walk.step;
  if (next_tile == walk.end_tile) next_tile = walk.first_tile;
  if (next_tile < walk.first_tile) next_tile = walk.end_tile - 1;
  walk.next_tile = next_tile;
  if (next_tile == walk.start_tile) walk.next_head = head + 1;
  shared.first_query[stage] = row;
  if (kNeedsHead) shared.head[stage] = walk.queries.outer * (a.nhead_k * a.group_size) + head;
  shared.tile_index[t % 8] = index;
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

/// Starts the loads of K, V and as many tiles of Q and dO as there are stages; one thread does it, the first
/// of all. `walk` is shared.walk.
template <bool kNeedsHead, int kHeadDim>
__device__ __forceinline__ void load_first_tiles(const DqDkDvArguments<kHeadDim>& a,
                                                 SharedMemory<kHeadDim>& shared, const Walk& walk) {
  using Tile = Tiling<kHeadDim>;
  const auto load_keys = [&](std::byte* to, const TensorMap& map, int panels, Barrier& full) {
    barrier_arrive_expecting(full, static_cast<unsigned>(panels * Tile::kKeyPanelBytes));
    FMHA_BWD_UNROLL
    for (int p = 0; p < panels; ++p) {
      load_tile(to + p * Tile::kKeyPanelBytes, map, p * kPanelColumns, walk.first_key, walk.head_k, walk.keys,
                full);
    }
  };
  load_keys(shared.k, a.k, Tile::kQPanels, shared.k_full);
  load_next_tile<kNeedsHead>(a, shared, 0, 0);
  load_keys(shared.v, a.v, Tile::kVPanels, shared.v_full);
  for (int t = 1; t < Tile::kStages && t < walk.tiles; ++t) load_next_tile<kNeedsHead>(a, shared, t, t);
}

/// The same thread's part from then on: loads a tile whenever a stage is free.
template <bool kNeedsHead, int kHeadDim>
__device__ __forceinline__ void load_tiles(const DqDkDvArguments<kHeadDim>& a,
                                           SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  Ring<Tile::kStages> ring;
  for (int t = Tile::kStages; t < shared.walk.tiles; ++t) {
    barrier_wait(shared.query_empty[ring.stage], ring.parity);
    load_next_tile<kNeedsHead>(a, shared, t, ring.stage);
    ring.advance();
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
