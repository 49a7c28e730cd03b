// The walks of stage 2, which stage 1 writes down: the loading warp of stage 2 has few registers, and its
// divisions and searches would stand between one walk and the next.
#pragma once

#include "kernels/hopper/errand_plan.h"
#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

template <int kHeadDim>
struct Plan {
  PlannedWalk* walks;     // of keys (share_out.h) and of errands, in the order that they are taken in
  int* key_tiles_before;  // [batch] in group mode: tiles of keys of a head before each sequence
  int2* seen;             // see seen.h; nullptr where nobody asks for it
  Planes<Tiling<kHeadDim>::kM> planes;
  MaskRule mask;
  int tiles;      // of keys, of all heads of all sequences
  int key_tiles;  // of a head in batch mode
  int nhead_k;
  int group_size;
  int owned;
  int parts;
  int alternating;  // heads whose walks alternate, see turns.h
  bool in_order;    // whether additions to dQ are
  ErrandPlan errands;

  /// Walks over keys.
  __device__ __forceinline__ int key_walks() const { return owned + (tiles - owned) * parts; }
  /// The place of errand_plan.h that number `number` of them begins at.
  __device__ __forceinline__ std::int64_t place_of(int number) const {
    return number < owned ? static_cast<std::int64_t>(number) * parts
                          : static_cast<std::int64_t>(owned) * parts + (number - owned);
  }
};

/// A tile of keys of one head of one sequence.
struct KeyTile {
  int sequence;
  int head_k;
  int index;
};

/// Tile number `tile` of all. `alternating` heads take turns, in group mode those of a sequence.
template <bool kGrouped, int kHeadDim>
__device__ __forceinline__ KeyTile key_tile_of(const Plan<kHeadDim>& plan, int tile) {
  int sequence = 0;
  int key_tiles = plan.key_tiles;
  int heads_of_all = plan.nhead_k;
  int of_sequence = tile;
  if (kGrouped) {
    int end = plan.planes.count;
    while (end - sequence > 1) {
      const int middle = (sequence + end) / 2;
      (plan.key_tiles_before[middle] * plan.nhead_k <= tile ? sequence : end) = middle;
    }
    key_tiles = static_cast<int>(divided_up(plan.planes.sequences[sequence].seqlen_k, Tiling<kHeadDim>::kN));
    of_sequence = tile - plan.key_tiles_before[sequence] * plan.nhead_k;
  } else {
    heads_of_all *= plan.planes.count;
  }
  const int first_head = of_sequence / (key_tiles * plan.alternating) * plan.alternating;
  const int left = heads_of_all - first_head;
  const int heads = left < plan.alternating ? left : plan.alternating;
  const int of_heads = of_sequence - first_head * key_tiles;
  const int head = first_head + of_heads % heads;
  if (!kGrouped) sequence = head / plan.nhead_k;
  return {sequence, kGrouped ? head : head % plan.nhead_k, of_heads / heads};
}

/// Which queries see the tiles of keys of one sequence, in tiles of queries.
template <int kHeadDim>
class Visits {
  using Tile = Tiling<kHeadDim>;

 public:
  __device__ __forceinline__ Visits(const MaskRule& rule, int seqlen_q, int seqlen_k)
      : mask_(rule, seqlen_q, seqlen_k), right_(rule.right), seqlen_k_(seqlen_k) {}

  struct Span {
    int begin;
    int end;
  };
  /// The tiles that see tile `index` of keys. Where none does, `end` is `begin`.
  __device__ __forceinline__ Span of(int index) const {
    const std::int64_t first = static_cast<std::int64_t>(index) * Tile::kN;
    const Range queries =
        mask_.queries_of({first, first + Tile::kN < seqlen_k_ ? first + Tile::kN : seqlen_k_});
    const int begin = static_cast<int>(queries.begin) / Tile::kM;
    return {begin, queries.empty() ? begin : static_cast<int>(divided_up(queries.end, Tile::kM))};
  }

  /// The queries that see a key; those from kNobody to 0 where it is past the last one.
  __device__ __forceinline__ Span of_key(int key) const {
    if (key >= seqlen_k_) return {kNobody, 0};
    const Range queries = mask_.visible_queries(key);
    return {static_cast<int>(queries.begin), static_cast<int>(queries.end)};
  }

  /// Query i sees the keys j <= i + diagonal(), where the mask is a Staircase; no further from 0 than makes a
  /// difference.
  __device__ __forceinline__ int diagonal() const {
    const std::int64_t diagonal = mask_.diagonal() + right_;
    const std::int64_t least = -mask_.seqlen_q();
    return static_cast<int>(diagonal < least ? least : diagonal < seqlen_k_ ? diagonal : seqlen_k_);
  }

 private:
  Mask mask_;
  std::int64_t right_;
  int seqlen_k_;
};

/// Start and turn of a walk over tile `index` of keys where each waits for that of the keys before.
template <int kHeadDim>
__device__ __forceinline__ void follow_keys(const Visits<kHeadDim>& visits, int index, PlannedWalk& walk) {
  walk.step = -1;
  walk.start_tile = walk.end_tile - 1;
  walk.turn = {static_cast<unsigned>(index + 1), 0U, 0};
  for (int before = index - 1; before >= 0; --before) {
    const auto earlier = visits.of(before);
    if (earlier.begin == earlier.end) continue;
    if (earlier.end > walk.first_tile) {
      walk.turn.awaited = static_cast<unsigned>(before + 1);
      walk.turn.awaited_end = earlier.end;
    }
    break;
  }
}

/// Whether any query of tile `tile` sees any of the second 64 of the keys from first_key on; known only where
/// a tile of queries has 64.
template <int kHeadDim>
__device__ __forceinline__ bool sees_second_half(const Visits<kHeadDim>& visits, int first_key, int tile) {
  using Tile = Tiling<kHeadDim>;
  return Tile::kN == 64 || Tile::kM > 64 ||
         visits.of_key(first_key + 64).begin < static_cast<std::int64_t>(tile + 1) * Tile::kM;
}

/// The walk over a tile of keys, as if it were nobody else's.
template <bool kGrouped, int kHeadDim>
__device__ __forceinline__ PlannedWalk walk_over(const Plan<kHeadDim>& plan, const KeyTile& keys) {
  PlannedWalk planned = {};
  Walk& walk = planned.walk;
  int seqlen_q = plan.planes.seqlen_q;
  if (kGrouped) {
    const Sequence& sequence = plan.planes.sequences[keys.sequence];
    seqlen_q = static_cast<int>(sequence.seqlen_q);
    walk.seqlen_k = static_cast<int>(sequence.seqlen_k);
    walk.first_row_k = static_cast<int>(sequence.place_k);
    planned.queries = place_in_group(sequence.place_q, sequence.seqlen_q);
    planned.keys = place_in_group(sequence.place_k, sequence.seqlen_k);
    planned.plane_tile = plan.planes.first_tile(keys.sequence);
  } else {
    walk.seqlen_k = plan.planes.seqlen_k;
    walk.batch = keys.sequence;
    planned.queries = planned.keys = place_in_batch(keys.sequence);
    planned.plane_tile = keys.sequence * plan.planes.nhead_q * plan.planes.tiles;
  }
  walk.head_k = keys.head_k;
  walk.first_key = keys.index * Tiling<kHeadDim>::kN;
  const Visits<kHeadDim> visits(plan.mask, seqlen_q, walk.seqlen_k);
  walk.diagonal = visits.diagonal();
  const auto [begin, end] = visits.of(keys.index);
  planned.first_tile = planned.start_tile = begin;
  planned.end_tile = end;
  planned.step = 1;
  walk.shared = -1;
  for (int half = 0; half < 2; ++half) {
    // The later a key, the later it is seen, and the later no more.
    const int first = walk.first_key + 64 * half;
    walk.all_seen_from[half] = visits.of_key(first + 63).begin;
    walk.all_seen_end[half] = visits.of_key(first).end;
  }
  if (begin == end) return planned;
  walk.parts = 1;
  walk.tiles = (end - begin) * plan.group_size;
  if (plan.in_order) {
    follow_keys(visits, keys.index, planned);
  } else if (!sees_second_half(visits, walk.first_key, begin) && walk.tiles > 1) {
    walk.skipped = 1;
  } else {
    planned.start_tile = begin + keys.index % (end - begin);
  }
  planned.next_tile = planned.start_tile;
  planned.next_head = walk.head_k * plan.group_size;
  return planned;
}

/// Writes walk number `number` of those over keys. A walk's `tiles` is 0 where nothing is to be visited: no
/// query sees the keys (`parts` is 0 then), or other walks visit all.
template <bool kGrouped, int kHeadDim>
__device__ __forceinline__ void write_walk(const Plan<kHeadDim>& plan, int number) {
  const bool owns = number < plan.owned;
  const int of_shared = number - plan.owned;
  const int tile = owns ? number : plan.owned + of_shared / plan.parts;
  const int part = owns ? 0 : of_shared % plan.parts;
  const KeyTile keys = key_tile_of<kGrouped>(plan, tile);
  PlannedWalk planned = walk_over<kGrouped>(plan, keys);
  Walk& walk = planned.walk;
  if (!owns) {
    const int tiles_a_head = planned.end_tile - planned.first_tile;
    const std::int64_t all = walk.tiles;
    walk.shared = tile - plan.owned;
    walk.skipped = 0;
    walk.parts = walk.tiles < plan.parts ? walk.tiles : plan.parts;
    planned.start_tile = planned.first_tile;
    walk.tiles = 0;
    if (part < walk.parts) {
      const int begin = static_cast<int>(all * part / walk.parts);
      walk.tiles = static_cast<int>(all * (part + 1) / walk.parts) - begin;
      planned.next_tile = planned.first_tile + begin % tiles_a_head;
      planned.next_head = walk.head_k * plan.group_size + begin / tiles_a_head;
    }
  }
  walk.key_head = -1;
  if (plan.errands.tiles > 0) {
    walk.key_head = keys.sequence * plan.nhead_k + keys.head_k;
    walk.places = owns ? plan.parts : 1;
  }
  plan.walks[plan.errands.ends + number + (plan.errands.tiles > 0 ? number / plan.errands.every : 0)] =
      planned;
}

/// Writes walk number `index` of those that have errands only: those before all others, those between them,
/// and those after them.
template <int kHeadDim>
__device__ __forceinline__ void write_errands(const Plan<kHeadDim>& plan, int index) {
  const ErrandPlan& errands = plan.errands;
  const int key_walks = plan.key_walks();
  const int between = errands.between(key_walks);
  ErrandPlan::Span prepares = {};
  ErrandPlan::Span converts = {};
  int at = index;
  if (index < errands.ends) {
    prepares = errands.to_prepare_first(index);
  } else if (index < errands.ends + between) {
    const int group = index - errands.ends;
    const int first = group * errands.every;
    const int end = first + errands.every < key_walks ? first + errands.every : key_walks;
    prepares = errands.to_prepare(plan.place_of(first), plan.place_of(end));
    converts = errands.to_convert(plan.place_of(first), plan.place_of(end));
    at = errands.ends + end + group;
  } else {
    converts = errands.to_convert_last(index - errands.ends - between);
    at = key_walks + index;
  }
  PlannedWalk planned = {};
  planned.walk.shared = -1;
  planned.walk.parts = 1;
  planned.walk.key_head = -1;
  planned.walk.errands = {prepares.end - prepares.begin, prepares.begin, converts.end - converts.begin,
                          converts.begin};
  plan.walks[at] = planned;
}

/// Tiles of keys that seen.h's table is of: those of a head of all sequences, or in batch mode of one, for
/// all have the same.
template <bool kGrouped, int kHeadDim>
__device__ __forceinline__ int seen_tiles(const Plan<kHeadDim>& plan) {
  return kGrouped ? plan.tiles / plan.nhead_k : plan.key_tiles;
}

/// Writes the table for tile number `tile` of them, by one warp.
template <bool kGrouped, int kHeadDim>
__device__ __forceinline__ void write_seen(const Plan<kHeadDim>& plan, int tile) {
  constexpr int kN = Tiling<kHeadDim>::kN;
  std::int64_t seqlen_q = plan.planes.seqlen_q;
  std::int64_t seqlen_k = plan.planes.seqlen_k;
  std::int64_t place = 0;
  int before = 0;
  if (kGrouped) {
    const int index =
        last_sequence_from(plan.planes.count, tile, [&](int n) { return plan.key_tiles_before[n]; });
    const Sequence& sequence = plan.planes.sequences[index];
    seqlen_q = sequence.seqlen_q;
    seqlen_k = sequence.seqlen_k;
    place = sequence.place_k;
    before = plan.key_tiles_before[index];
  }
  const Mask mask(plan.mask, seqlen_q, seqlen_k);
  for (int i = static_cast<int>(threadIdx.x) % 32; i < kN; i += 32) {
    const int key = (tile - before) * kN + i;
    if (key >= seqlen_k) return;
    const Range queries = mask.visible_queries(key);
    plan.seen[place + key] = {static_cast<int>(queries.begin), static_cast<int>(queries.end)};
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
