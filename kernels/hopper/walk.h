// What a block of stage 2 keeps in shared memory, and the thread that loads its tiles.
#pragma once

#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/tiling.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

inline constexpr int kNobody = 0x7fffffff;

template <int kHeadDim>
struct DqDkDvArguments {
  TensorMap q;            // [batch, nhead_q, seqlen_q, hdim], boxes of kM rows
  TensorMap k;            // [batch, nhead_k, seqlen_k, hdim], boxes of kN rows
  TensorMap v;            // [batch, nhead_k, seqlen_k, hdim], boxes of kN rows
  TensorMap d_o;          // [batch, nhead_q, seqlen_q, hdim], boxes of kM rows
  TensorMap dk;           // [batch, nhead_k, seqlen_k, hdim], boxes of 64 rows
  TensorMap dv;           // [batch, nhead_k, seqlen_k, hdim], boxes of 64 rows
  const float* lse_log2;  // [batch, nhead_q, query_tiles, kM]
  const float* d;         // [batch, nhead_q, query_tiles, kM]
  float* dq_acc;          // [batch, nhead_q, query_tiles, kM * hdim], see tiling.h
  float* sums;            // [shared tiles, 2, kN * hdim], see launch.h
  unsigned* arrivals;     // [shared tiles]
  Staircase mask;
  float scale;
  float scale_log2;  // scale * log2 e
  int key_tiles;     // of a head
  int query_tiles;   // of a head
  int nhead_k;
  int group_size;
  int owned;  // see share_out.h
  int parts;
};

/// The tiles of queries that a block visits: those that see any of its keys, of one head of the group after
/// the other, from start_tile on and round. Blocks of one head start at different tiles, so that their
/// additions to dQ don't meet.
struct Walk {
  int batch;
  int head_k;
  int first_key;
  int tiles;       // to visit
  int first_tile;  // of a head
  int end_tile;    // of a head
  int start_tile;  // of a head
  int next_tile;   // to load
  int next_head;   // to load
  int shared;      // which shared tile of keys it is; -1 where the block owns its tile
  int parts;       // blocks that visit part of it
};

template <int kHeadDim>
struct alignas(1024) SharedMemory {
  using Tile = Tiling<kHeadDim>;
  std::byte k[Tile::kKeyTileBytes];
  std::byte v[Tile::kKeyTileBytes];
  std::byte q[Tile::kStages][Tile::kQueryTileBytes];
  std::byte d_o[Tile::kStages][Tile::kQueryTileBytes];
  std::byte ds[Tile::kDsStages][Tile::kDsTileBytes];
  float lse_log2[Tile::kStages][Tile::kM];
  float d[Tile::kStages][Tile::kM];
  int first_query[Tile::kStages];  // of the tiles here
  int tile_index[8];               // of visit t at t % 8: the tile's among those of all heads
  int first_seen_by[Tile::kN];  // the first query that sees each key; seqlen_q or kNobody where there is none
  int all_seen_by;              // from this query on every key is seen; kNobody where there is none
  bool is_last;                 // of the blocks of a shared tile of keys
  Walk walk;
  Barrier k_full;
  Barrier v_full;
  Barrier query_full[Tile::kStages];  // Q, LSE, dO and D
  Barrier query_empty[Tile::kStages];
  Barrier ds_full[Tile::kDsStages];
  Barrier ds_empty[Tile::kDsStages];
  int head[Tile::kStages];  // of the tiles here, among those of the batch; scores that are not plain ask for
                            // it
};

static_assert(sizeof(SharedMemory<64>) <= 227 * 1024 && sizeof(SharedMemory<128>) <= 227 * 1024);

/// The walk of this block. Its `tiles` is 0 where nothing is to be visited: no query sees the keys, or other
/// blocks visit all.
template <int kHeadDim>
__device__ __forceinline__ Walk walk_of_block(const DqDkDvArguments<kHeadDim>& a) {
  using Tile = Tiling<kHeadDim>;
  const int block = static_cast<int>(blockIdx.x);
  const bool owns = block < a.owned;
  const int part = owns ? 0 : (block - a.owned) % a.parts;
  const int shared = owns ? -1 : (block - a.owned) / a.parts;
  const int tile = owns ? block : a.owned + shared;
  const int key_tile = tile % a.key_tiles;
  const int head = tile / a.key_tiles;

  Walk walk = {};
  walk.batch = head / a.nhead_k;
  walk.head_k = head % a.nhead_k;
  walk.first_key = key_tile * Tile::kN;
  const auto seqlen_k = static_cast<int>(a.mask.seqlen_k());
  const int end_key = walk.first_key + Tile::kN < seqlen_k ? walk.first_key + Tile::kN : seqlen_k;
  const Range queries = a.mask.queries_of({walk.first_key, end_key});
  walk.first_tile = static_cast<int>(queries.begin) / Tile::kM;
  walk.end_tile =
      queries.empty() ? walk.first_tile : (static_cast<int>(queries.end) + Tile::kM - 1) / Tile::kM;
  const int tiles_a_head = walk.end_tile - walk.first_tile;
  const int all_tiles = tiles_a_head * a.group_size;
  if (all_tiles == 0) return walk;

  walk.shared = shared;
  walk.parts = owns ? 1 : (a.parts < all_tiles ? a.parts : all_tiles);
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
  const int batch = walk.batch;
  const int row = tile * Tile::kM;
  const int index = (batch * (a.nhead_k * a.group_size) + head) * a.query_tiles + tile;
  const int next_tile = tile + 1 == walk.end_tile ? walk.first_tile : tile + 1;
  walk.next_tile = next_tile;
  if (next_tile == walk.start_tile) walk.next_head = head + 1;
  shared.first_query[stage] = row;
  if (kNeedsHead) shared.head[stage] = batch * (a.nhead_k * a.group_size) + head;
  shared.tile_index[t % 8] = index;
  Barrier& full = shared.query_full[stage];
  barrier_arrive_expecting(full, 2 * (Tile::kQueryTileBytes + kRowBytes));
  const auto load = [&](std::byte* to, const TensorMap& map, float* rows_to, const float* rows) {
    FMHA_BWD_UNROLL
    for (int p = 0; p < Tile::kPanels; ++p) {
      load_tile(to + p * Tile::kQueryPanelBytes, map, p * kPanelColumns, row, head, batch, full);
    }
    load_bytes(rows_to, rows + static_cast<std::int64_t>(index) * Tile::kM, kRowBytes, full);
  };
  load(shared.q[stage], a.q, shared.lse_log2[stage], a.lse_log2);
  load(shared.d_o[stage], a.d_o, shared.d[stage], a.d);
}

/// Starts the loads of K, V and as many tiles of Q and dO as there are stages; one thread does it, the first
/// of all.
template <bool kNeedsHead, int kHeadDim>
__device__ __forceinline__ void load_first_tiles(const DqDkDvArguments<kHeadDim>& a,
                                                 SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  const auto load_keys = [&](std::byte* to, const TensorMap& map, Barrier& full) {
    barrier_arrive_expecting(full, Tile::kKeyTileBytes);
    FMHA_BWD_UNROLL
    for (int p = 0; p < Tile::kPanels; ++p) {
      load_tile(to + p * Tile::kKeyPanelBytes, map, p * kPanelColumns, shared.walk.first_key,
                shared.walk.head_k, shared.walk.batch, full);
    }
  };
  load_keys(shared.k, a.k, shared.k_full);
  load_next_tile<kNeedsHead>(a, shared, 0, 0);
  load_keys(shared.v, a.v, shared.v_full);
  for (int t = 1; t < Tile::kStages && t < shared.walk.tiles; ++t)
    load_next_tile<kNeedsHead>(a, shared, t, t);
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
