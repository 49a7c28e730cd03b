// Where a sequence stands in the tensor maps of a problem.
//
// A map has five dimensions: column, row, head and two that place the sequence. In batch mode those are the
// batch index and nothing. In group mode rows of sequences follow one another, and the copy engine is to stop
// at the end of each, though a map knows one end only. So a map's rows end at kRowsEnd, and a sequence of
// `seqlen` rows from row `place` of the tensor on has the last of them, kRowsEnd - seqlen and on. The
// two other dimensions lead from there to its memory: the first in steps of a row, place + seqlen of them;
// the second has the stride 2^34 bytes less a row and is always 2^30, kRowsEnd, which is 2^64 bytes less
// kRowsEnd rows. Addresses are counted modulo 2^64. (Triton's ragged descriptors do the same.)
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

inline constexpr std::int64_t kRowsEnd = std::int64_t{1} << 30;
inline constexpr std::int64_t kWholeTurn = std::int64_t{1} << 34;  // bytes; kRowsEnd of them are 2^64

struct MapPlace {
  int first_row;  // of the sequence
  int outer;
  int outermost;
};

FMHA_BWD_HOST_DEVICE constexpr MapPlace place_in_batch(int batch) { return {0, batch, 0}; }
FMHA_BWD_HOST_DEVICE constexpr MapPlace place_in_group(std::int64_t place, std::int64_t seqlen) {
  return {static_cast<int>(kRowsEnd - seqlen), static_cast<int>(place + seqlen), static_cast<int>(kRowsEnd)};
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
