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

/// The family that options.kernel names; with "auto" the one that the backend has found to be the fastest at
/// such problems, or else the first one, that supports the problem under `mask`.
///
/// Throws Error: bad_usage where no family has that name; unsupported, with every refusal, where none
/// supports it.
KernelChoice choose_kernel(const Options& options, const MaskSpec& mask, const Backend& backend);

}  // namespace fmha_bwd
