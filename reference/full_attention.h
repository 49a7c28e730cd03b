// Forward and backward of all rows: reference/attention.h says how the work is cut.
#pragma once

#include "reference/attention.h"
#include "reference/parallel.h"
#include "reference/per_output.h"
#include "reference/score_terms.h"

namespace fmha_bwd {

/// O and LSE, in the shapes of base/tensor.h.
template <typename Real>
void attention_forward(const ScoreTerms& terms, const Workers& workers, Real* o, Real* lse);

/// Everything else, of the O and LSE that stand in `outputs`: D, dQ, dK, dV, and dBias and dSink where the
/// problem has them.
template <typename Real>
AttentionStatistics attention_backward(const ScoreTerms& terms, const Workers& workers,
                                       const PerOutput<Real*>& outputs);

}  // namespace fmha_bwd
