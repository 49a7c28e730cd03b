// Masks as pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mask.h"

namespace fmha_bwd {

/// The first `rows` queries (as lines) and `columns` keys, or as many as there are: "█" where the query sees
/// the key and "·" where not, separated by spaces.
std::vector<std::string> mask_picture(const Mask& mask, std::int64_t rows, std::int64_t columns);

}  // namespace fmha_bwd
