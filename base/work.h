// How much work a masked problem is: exact counts, in 64 bits.
#pragma once

#include <cstdint>

#include "base/mask.h"
#include "base/problem.h"

namespace fmha_bwd {

/// What one head of one sequence computes; in group mode, of all sequences together.
struct MaskCounts {
  std::int64_t all_pairs = 0;      // seqlen_q * seqlen_k
  std::int64_t visible_pairs = 0;  // of a query and a key that it sees
  std::int64_t rows = 0;           // queries
  std::int64_t keys = 0;
  std::int64_t empty_rows = 0;  // queries that see no key
  std::int64_t empty_keys = 0;  // keys that no query sees

  /// visible_pairs / all_pairs, in [0, 1]; 0 where there are no pairs.
  double density() const {
    return all_pairs == 0 ? 0.0 : static_cast<double>(visible_pairs) / static_cast<double>(all_pairs);
  }
};

MaskCounts count(const Mask& mask);
/// Of the problem's one sequence length, or summed over its sequences in group mode.
MaskCounts count(const MaskRule& rule, const Problem& problem);

/// FLOPs of the backward pass over `pairs` pairs a head, as count() counts them, for all heads of the batch:
/// five products (S, dQ, dK over hdim_q; dP, dV over hdim_v), two operations a multiply-add.
double backward_flops(const Problem& problem, std::int64_t pairs);
/// The same of the forward pass: two products (S over hdim_q, O over hdim_v).
double forward_flops(const Problem& problem, std::int64_t pairs);

}  // namespace fmha_bwd
