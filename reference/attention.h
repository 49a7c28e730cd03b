// Attention forward and backward on the CPU, twice: the fp64 truth, and the textbook implementation in the
// problem's own type, whose error against the truth says what a correct kernel may err (reference/verify.h).
//
//     S = scale * Q K^T        P = exp(S - LSE) where visible, else 0
//     O = P V                  D = rowsum(dO * O)
//     dP = dO V^T              dS = P * (dP - D)
//     dQ = scale * dS K        dK = scale * dS^T Q        dV = P^T dO
//
// Both go over the scores in tiles, and recompute a tile of P from LSE wherever it is needed, so that memory
// grows with the sequence and not with its square. A task owns a tile of queries (O, LSE, D, dQ) or a tile
// of keys (dK, dV) and sums alone, in a fixed order: the bits do not depend on the number of threads.
#pragma once

#include <vector>

#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/result.h"
#include "base/tensor.h"
#include "reference/inputs.h"
#include "reference/parallel.h"
#include "reference/per_output.h"

namespace fmha_bwd {

/// The size of something that every row (or element) has one of.
struct Magnitude {
  double rms = 0.0;
  double max = 0.0;
};

/// What is known about a problem once it is computed.
struct AttentionStatistics {
  double p_sparsity = 0.0;  // share of all pairs, the invisible ones too, with P < 1e-9
  Extent d_range;
  double max_abs_score = 0.0;  // of the visible pairs
  Magnitude p_row;             // 2-norms of the rows of P, one for each query
  Magnitude p_column;          // 2-norms of the columns of P, one for each key, over all heads of its group
  Magnitude ds_row;            // the same of dS
  Magnitude ds_column;
};

/// Every output, in the shapes of base/tensor.h. A query that sees no key has O = 0, LSE = -infinity, D = 0
/// and dQ = 0; a key that no query sees has dK = dV = 0.
template <typename Real>
struct Attention : PerOutput<std::vector<Real>> {
  AttentionStatistics statistics;
};

using ExactAttention = Attention<double>;
using TextbookAttention = Attention<float>;

/// In fp64 throughout. Throws std::invalid_argument where the inputs do not have the problem's shapes.
ExactAttention exact_attention(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                               const Workers& workers = {});

/// In the problem's type as an attention kernel computes it: every sum and the softmax in fp32; P and dS
/// rounded to the type where they are operands of a product (P of O and dV, dS of dQ and dK); D from the
/// rounded O; O, dQ, dK and dV rounded to the type, LSE and D left in fp32.
TextbookAttention textbook_attention(const Problem& problem, const MaskSpec& mask,
                                     const AttentionInputs& inputs, const Workers& workers = {});

}  // namespace fmha_bwd
