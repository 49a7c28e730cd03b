// The walks of stage 2, which stage 1 writes down.
#pragma once

#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

template <int kHeadDim>
struct Plan {
  Walk* walks;            // [owned + (tiles - owned) * parts], see share_out.h
  int* key_tiles_before;  // [batch] in group mode: tiles of keys of a head before each sequence
  Planes<Tiling<kHeadDim>::kM> planes;
  MaskRule mask;
  int tiles;      // of keys, of all heads of all sequences
  int key_tiles;  // of a head in batch mode
  int nhead_k;
  int group_size;
  int owned;
  int parts;
  int alternating;  // heads whose walks alternate, see turns.h
  bool ordered;     // additions to dQ are
};

/// A tile of keys of one head of one sequence.
struct KeyTile {
  int sequence;
  int head_k;
  int index;
};

/// Tile number `tile` of all. Where additions to dQ are in order, `alternating` heads of a sequence take
/// turns.
template <bool kGrouped, int kHeadDim>
__device__ __forceinline__ KeyTile key_tile_of(const Plan<kHeadDim>& plan, int tile) {
  int sequence = 0;
  int key_tiles = plan.key_tiles;
  int of_sequence = 0;
  if (kGrouped) {
    int end = plan.planes.count;
    while (end - sequence > 1) {
      const int middle = (sequence + end) / 2;
      (plan.key_tiles_before[middle] * plan.nhead_k <= tile ? sequence : end) = middle;
    }
    key_tiles = static_cast<int>(divided_up(plan.planes.sequences[sequence].seqlen_k, Tiling<kHeadDim>::kN));
    of_sequence = tile - plan.key_tiles_before[sequence] * plan.nhead_k;
  } else {
    sequence = tile / (key_tiles * plan.nhead_k);
    of_sequence = tile % (key_tiles * plan.nhead_k);
  }
  const int first_head = of_sequence / (key_tiles * plan.alternating) * plan.alternating;
  const int left = plan.nhead_k - first_head;
  const int heads = left < plan.alternating ? left : plan.alternating;
  const int of_heads = of_sequence - first_head * key_tiles;
  return {sequence, first_head + of_heads % heads, of_heads / heads};
}

/// Writes the walk or the walks of tile number `tile`. A walk's `tiles` is 0 where nothing is to be visited:
/// no query sees the keys (`parts` is 0 then), or other walks visit all.
template <bool kGrouped, int kHeadDim>
__device__ __forceinline__ void write_walks(const Plan<kHeadDim>& plan, int tile) {
  using Tile = Tiling<kHeadDim>;
  const KeyTile of_keys = key_tile_of<kGrouped>(plan, tile);
  Walk walk = {};
  if (kGrouped) {
    const Sequence& sequence = plan.planes.sequences[of_keys.sequence];
    walk.seqlen_q = static_cast<int>(sequence.seqlen_q);
    walk.seqlen_k = static_cast<int>(sequence.seqlen_k);
    walk.queries = place_in_group(sequence.place_q, sequence.seqlen_q);
    walk.keys = place_in_group(sequence.place_k, sequence.seqlen_k);
    walk.plane_tile = plan.planes.first_tile(of_keys.sequence);
  } else {
    walk.seqlen_q = plan.planes.seqlen_q;
    walk.seqlen_k = plan.planes.seqlen_k;
    walk.queries = walk.keys = place_in_batch(of_keys.sequence);
    walk.plane_tile = of_keys.sequence * plan.planes.nhead_q * plan.planes.tiles;
  }
  walk.head_k = of_keys.head_k;
  walk.first_key = of_keys.index * Tile::kN;

  const Mask mask(plan.mask, walk.seqlen_q, walk.seqlen_k);
  const auto queries_of_tile = [&](int index) {
    const std::int64_t first = index * Tile::kN;
    return mask.queries_of({first, first + Tile::kN < walk.seqlen_k ? first + Tile::kN : walk.seqlen_k});
  };
  const auto end_tile_of = [](const Range& of) { return static_cast<int>(divided_up(of.end, Tile::kM)); };
  const Range queries = queries_of_tile(of_keys.index);
  walk.first_tile = static_cast<int>(queries.begin) / Tile::kM;
  walk.end_tile = queries.empty() ? walk.first_tile : end_tile_of(queries);
  const int tiles_a_head = walk.end_tile - walk.first_tile;
  const int all_tiles = tiles_a_head * plan.group_size;
  const bool owned = tile < plan.owned;
  if (all_tiles > 0) walk.parts = owned ? 1 : (plan.parts < all_tiles ? plan.parts : all_tiles);
  walk.step = plan.ordered ? -1 : 1;
  for (int before = of_keys.index - 1; plan.ordered && before >= 0 && walk.before_end_tile == 0; --before) {
    const Range earlier = queries_of_tile(before);
    if (earlier.end <= walk.first_tile * Tile::kM) break;  // the more so those before it
    if (earlier.empty()) continue;
    walk.before = before;
    walk.before_end_tile = end_tile_of(earlier);
  }

  if (owned) {
    walk.shared = -1;
    walk.tiles = all_tiles;
    if (all_tiles > 0) {
      walk.start_tile = plan.ordered ? walk.end_tile - 1 : walk.first_tile + of_keys.index % tiles_a_head;
    }
    walk.next_tile = walk.start_tile;
    walk.next_head = walk.head_k * plan.group_size;
    plan.walks[tile] = walk;
    return;
  }
  walk.shared = tile - plan.owned;
  walk.start_tile = walk.first_tile;
  for (int part = 0; part < plan.parts; ++part) {
    walk.tiles = 0;
    if (part < walk.parts) {
      const std::int64_t all = all_tiles;
      const int begin = static_cast<int>(all * part / walk.parts);
      walk.tiles = static_cast<int>(all * (part + 1) / walk.parts) - begin;
      walk.next_tile = walk.first_tile + begin % tiles_a_head;
      walk.next_head = walk.head_k * plan.group_size + begin / tiles_a_head;
    }
    plan.walks[plan.owned + walk.shared * plan.parts + part] = walk;
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
