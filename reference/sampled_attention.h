// The rows of a sample, each computed by itself: reference/sample.h says which.
//
// A sampled query's O, LSE, D and dQ need all keys that it sees and nothing of other queries. A sampled key's
// dK and dV need LSE and D of every query that sees it, a sampled row of dBias those of its own rows, and
// dSink those of all: they are taken from `known`, the device's own, of which the sampled queries' are
// verified beside it.
#pragma once

#include <vector>

#include "reference/attention.h"
#include "reference/parallel.h"
#include "reference/sample.h"
#include "reference/score_terms.h"

namespace fmha_bwd {

/// LSE and D of all rows, [batch, nhead_q, seqlen_q].
struct KnownLseAndD {
  std::vector<float> lse;
  std::vector<float> d;
};

/// The sampled rows of every output, one after the other in the order of the sample, and dSink. The
/// statistics are of those rows.
template <typename Real>
Attention<Real> sampled_attention(const ScoreTerms& terms, const Sample& sample, const KnownLseAndD& known,
                                  const Workers& workers);

}  // namespace fmha_bwd
