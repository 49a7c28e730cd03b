// Which kernel family computes a mask, and why.
#pragma once

#include <string>

#include "kernels/backend.h"
#include "src/options.h"

namespace fmha_bwd {

struct KernelChoice {
  std::string name;
  std::string reason;
};

/// The fastest family that supports the problem under `mask`, or the one that options.kernel names.
///
/// Throws Error: bad_usage where no family has that name; unsupported, with every refusal, where none
/// supports it.
KernelChoice choose_kernel(const Options& options, const MaskSpec& mask, const Backend& backend);

}  // namespace fmha_bwd
