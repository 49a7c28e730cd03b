// Forward and backward of all rows: reference/attention.h says how the work is cut.
#pragma once

#include "reference/attention.h"
#include "reference/parallel.h"
#include "reference/score_terms.h"

namespace fmha_bwd {

/// O and LSE, [batch, nhead_q, seqlen_q] rows.
template <typename Real>
void attention_forward(const ScoreTerms& terms, const Workers& workers, Attention<Real>& result);

/// D, dQ, dK, dV, dBias, dSink and the statistics, of the O and LSE that are in `result`.
template <typename Real>
void attention_backward(const ScoreTerms& terms, const Workers& workers, Attention<Real>& result);

}  // namespace fmha_bwd
