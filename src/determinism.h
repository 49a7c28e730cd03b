// Whether a kernel gives the same bits in every run.
#pragma once

#include <functional>

#include "base/result.h"
#include "kernels/backend.h"

namespace fmha_bwd {

/// Runs `runs` >= 1 forward and backward passes into poisoned outputs and compares the bits of the gradients
/// with those of the first; ends at the first run that differs. `progress` hears the share that is done.
Determinism check_determinism(Session& session, const Problem& problem, const MaskSpec& mask,
                              std::int64_t runs, const std::function<void(double)>& progress);

/// How `other` differs from `first`, of the same shape and type; nothing where it has the same bits.
std::optional<Difference> difference_between(TensorId id, const HostTensor& first, const HostTensor& other);

}  // namespace fmha_bwd
