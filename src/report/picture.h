// Masks as pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mask.h"

namespace fmha_bwd {

/// A whole mask in cells of so many queries (down) and keys (across): "█" where all pairs of a cell are
/// visible, "▒" where some are, "·" where none is.
struct MaskPicture {
  std::int64_t queries_a_cell = 1;
  std::int64_t keys_a_cell = 1;
  std::vector<std::string> lines;  // cells separated by spaces
};

/// At most `lines` x `columns` cells. Cells hold as many queries as keys, and one pair where all fit; only a
/// side that would have fewer than four cells then has smaller ones.
MaskPicture picture_of(const Mask& mask, std::int64_t lines, std::int64_t columns);

}  // namespace fmha_bwd
