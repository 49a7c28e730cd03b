// How stages 1 and 3 are shared out among the blocks of stage 2.
//
// Both are bound by memory, stage 2 is not: as launches of their own they take 125 us of 16384 tokens of
// hidden size 2048. As errands (errands.h) they are done by some blocks while others multiply. After every
// few walks over keys comes a walk of errands, in which a block prepares tiles of queries of heads that come
// later, and converts those of heads that are done. Tiles are numbered through all heads, key head by key
// head, and prepared and converted in that order, at the pace of the walks, `ahead` tiles before and behind
// them:
//
//   tiles prepared in front of a place   ahead + place * head_tiles / head_places, up to all
//   tiles converted in front of it               place * head_tiles / head_places - ahead, from 0 on
//
// Places are walks over keys, or parts of those where tiles of keys are shared out. `ahead` is as far as
// walks may be from their place in this order, since heads alternate, since many run at a time, and since
// errands come after `every` of them: twice as many as run at a time, for a walk of errands takes as long as
// two over keys of S512. What is left before the first walk and after the last is done by walks of errands
// there, one a block.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/divided_up.h"
#include "base/host_device.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

struct ErrandPlan {
  /// Tiles from `begin` to `end` - 1.
  struct Span {
    int begin;
    int end;
  };

  int tiles = 0;        // of queries, of all heads; 0 where stages 1 and 3 are launches of their own
  int head_tiles = 0;   // of the query heads of a key head
  int head_places = 0;  // of a key head
  int places = 0;       // of all
  int ahead = 0;
  int ends = 0;   // walks of errands before the first walk over keys, and as many after the last
  int every = 1;  // walks over keys from one walk of errands to the next

  /// Walks of errands after groups of `every` of `walks` walks over keys.
  FMHA_BWD_HOST_DEVICE constexpr int between(int walks) const {
    return tiles == 0 ? 0 : (walks + every - 1) / every;
  }
  FMHA_BWD_HOST_DEVICE constexpr int prepared_before(std::int64_t place) const {
    const std::int64_t end = ahead + paced(place);
    return static_cast<int>(end < tiles ? end : tiles);
  }
  FMHA_BWD_HOST_DEVICE constexpr int converted_before(std::int64_t place) const {
    const std::int64_t end = paced(place) - ahead;
    return static_cast<int>(end < 0 ? 0 : end);
  }
  /// What a walk of errands prepares and converts that comes after the walks over places `begin` to `end`
  /// - 1.
  FMHA_BWD_HOST_DEVICE constexpr Span to_prepare(std::int64_t begin, std::int64_t end) const {
    return {prepared_before(begin), prepared_before(end)};
  }
  FMHA_BWD_HOST_DEVICE constexpr Span to_convert(std::int64_t begin, std::int64_t end) const {
    return {converted_before(begin), converted_before(end)};
  }
  /// What walk `index` of those before all others prepares, and of those after them converts.
  FMHA_BWD_HOST_DEVICE constexpr Span to_prepare_first(int index) const {
    const std::int64_t count = prepared_before(0);
    return {static_cast<int>(count * index / ends), static_cast<int>(count * (index + 1) / ends)};
  }
  FMHA_BWD_HOST_DEVICE constexpr Span to_convert_last(int index) const {
    const int begin = converted_before(places);
    const std::int64_t count = tiles - begin;
    return {begin + static_cast<int>(count * index / ends),
            begin + static_cast<int>(count * (index + 1) / ends)};
  }

 private:
  FMHA_BWD_HOST_DEVICE constexpr std::int64_t paced(std::int64_t place) const {
    return head_places == 0 ? 0 : place * head_tiles / head_places;
  }
};

/// For `key_heads` heads of `head_tiles` tiles of queries and `key_tiles` tiles of keys each, the walks over
/// which have `parts` places each and alternate between `alternating` heads; `processors` of them run at a
/// time. A walk of errands has some 32 of them, half of each kind.
constexpr ErrandPlan errand_plan(std::int64_t key_heads, std::int64_t head_tiles, std::int64_t key_tiles,
                                 std::int64_t parts, std::int64_t alternating, std::int64_t processors) {
  const std::int64_t tiles = key_heads * head_tiles;
  const std::int64_t all_key_tiles = key_heads * key_tiles;
  std::int64_t ahead = tiles;
  std::int64_t every = 1;
  if (all_key_tiles > 0 && head_tiles > 0) {
    every = std::clamp<std::int64_t>(16 * key_tiles / head_tiles, 1, all_key_tiles);
    const std::int64_t places = 2 * processors + every;
    ahead = std::min(tiles, alternating * head_tiles + divided_up(places * head_tiles, key_tiles));
  }
  return {static_cast<int>(tiles),
          static_cast<int>(head_tiles),
          static_cast<int>(key_tiles * parts),
          static_cast<int>(all_key_tiles * parts),
          static_cast<int>(ahead),
          static_cast<int>(std::min(tiles, processors)),
          static_cast<int>(every)};
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
