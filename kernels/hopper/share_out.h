// How the tiles of keys are shared out among the walks of stage 2.
//
// Most tiles have a walk of their own. When as many walks as multiprocessors run at a time, the last wave of
// them is often nearly empty: 2048 tiles on 132 multiprocessors are 15 waves and half of one, and take the
// time of 16. The tiles of that last wave are therefore walked over by several walks each, every one over its
// share of the queries. They add dK and dV up in fp32, and the last of them to finish rounds the sums and
// stores them. A problem of fewer tiles than multiprocessors gets more walks in the same way.
#pragma once

#include <cstdint>

#include "base/divided_up.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

struct ShareOut {
  std::int64_t owned = 0;   // tiles with a walk of their own: the first ones
  std::int64_t shared = 0;  // tiles after those
  std::int64_t parts = 1;   // walks of a shared tile

  std::int64_t walks() const { return owned + shared * parts; }
};

/// For `tiles` tiles of keys, each walked over by up to `walk` tiles of queries, on `processors`
/// multiprocessors: the fewest rounds of work in the last wave, where the start and the end of a walk cost
/// as much as kBlockCost tiles.
constexpr ShareOut share_out(std::int64_t tiles, std::int64_t walk, std::int64_t processors) {
  constexpr std::int64_t kBlockCost = 5;
  constexpr std::int64_t kMaxParts = 16;
  ShareOut best{tiles, 0, 1};
  const std::int64_t last_wave = tiles % processors;
  std::int64_t least = last_wave == 0 ? 0 : walk + kBlockCost;
  for (std::int64_t parts = 2; parts <= kMaxParts && parts <= walk; ++parts) {
    const std::int64_t cost =
        divided_up(last_wave * parts, processors) * (divided_up(walk, parts) + kBlockCost);
    if (cost >= least) continue;
    least = cost;
    best = {tiles - last_wave, last_wave, parts};
  }
  return best;
}

/// A share-out that knows of no mask, for walks that are or are not as long as one another. If not, as where
/// some queries see no key of a tile, the last blocks are short ones, and tiles are shared only if there is
/// no other wave.
constexpr ShareOut for_walks(const ShareOut& any, bool alike) {
  return alike || any.owned == 0 ? any : ShareOut{any.owned + any.shared, 0, 1};
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
