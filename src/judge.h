// The outputs of one mask against the CPU's reference.
#pragma once

#include <cstdint>
#include <functional>

#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/result.h"
#include "reference/inputs.h"
#include "reference/verify.h"
#include "src/outputs.h"
#include "src/verification_plan.h"

namespace fmha_bwd {

/// The reference as `plan` has it, which verifies: of all rows, or of a sample that `seed` draws. `progress`
/// is told the share that is done. Throws Error (bad_usage) where results are not finite in the problem's
/// type.
Reference planned_reference(const VerificationPlan& plan, const Problem& problem, const MaskSpec& mask,
                            const AttentionInputs& inputs, const Outputs& outputs, std::uint64_t seed,
                            const std::function<void(double)>& progress);

/// Adds the verdicts, and what the reference knows of the mask, to its result.
void judge(const Problem& problem, const Outputs& outputs, const Reference& reference, MaskResult& result);

}  // namespace fmha_bwd
