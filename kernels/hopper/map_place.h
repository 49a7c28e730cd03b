// Where a sequence stands in the tensor maps of a problem.
//
// A map has five dimensions: column, row, head, and two that place the sequence. In batch mode those are the
// batch index and nothing. In group mode the rows of the sequences follow one another, and what the copy
// engine leaves out has to end where each sequence does, though a map has one end of its rows only. There it
// has kRowsEnd rows, and a sequence is the last of them. The other two dimensions lead to its memory, which
// ends place + seqlen rows into the tensor, `place` being its first row there: the first one by as many
// steps of a row, and the second one by kRowsEnd steps of 2^34 bytes less a row. Those are 2^64 bytes, which
// addresses do not count, less kRowsEnd rows. (Triton's "ragged" descriptors do it so, too.)
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

inline constexpr std::int64_t kRowsEnd = std::int64_t{1} << 30;
inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 31;    // of a tensor, and more than it has
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
