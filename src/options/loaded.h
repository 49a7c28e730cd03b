// What a folder of --load says of the options.
#pragma once

#include <string>
#include <vector>

#include "src/options/arguments.h"

namespace fmha_bwd {

/// The arguments of the command line, over those of the loaded folder's case file, or over what its tensors
/// say of shape, type and features where it has none. Throws Error (bad_usage) where the folder cannot be
/// read, leaves the shape open, or has a file that neither uses nor turns down.
Arguments arguments_of(const std::vector<std::string>& words);

}  // namespace fmha_bwd
