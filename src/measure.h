// Timing a backward pass that was verified.
#pragma once

#include <functional>

#include "base/mask_spec.h"
#include "base/result.h"
#include "kernels/backend.h"

namespace fmha_bwd {

/// Runs `warmup` passes, then `repeat` >= 1 timed ones, and takes the median of each stage and of the total.
/// `counts` and the session's problem give the FLOPs; `progress` hears the share that is done.
Timing measure(Session& session, const Problem& problem, const MaskSpec& mask, const MaskCounts& counts,
               std::int64_t warmup, std::int64_t repeat, const std::function<void(double)>& progress);

}  // namespace fmha_bwd
