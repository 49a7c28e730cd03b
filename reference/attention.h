// Attention forward and backward on the CPU, twice: the fp64 truth, and the textbook implementation in the
// problem's own type, whose error against the truth says what a correct kernel may err (reference/verify.h).
//
//     x = scale * q.k          S = softcap(x) + bias - slope * |i + diagonal - j|
//     LSE = log(sum exp(S) over the visible keys + exp(sink))
//     P = exp(S - LSE) where visible, else 0
//     Z = keep / (1 - probability), the factors of dropout
//     O = (P * Z) V            D = rowsum(dO * O)
//     dP = Z * (dO V^T)        dS = P * (dP - D)
//     dX = dS * dS/dx, with dS/dx = 1 - (softcap(x) / softcap)^2
//     dQ = scale * dX K        dK = scale * dX^T Q        dV = (P * Z)^T dO
//     dBias = dS, summed over the sequences and the heads that share an element of the bias
//     dSink = -sum exp(sink - LSE) * D, over all rows of a head
//
// Terms that the problem does not have are left out: softcap(x) is x, the bias and the slope 0, exp(sink) 0,
// Z and dS/dx 1. Masks, the diagonal and the rows are those of each sequence. Dropout draws as in
// base/dropout.h.
//
// Both go over the scores in tiles and never hold more of them than those at work, so that memory grows with
// the sequence and not with its square, but for the bias and dBias. The forward pass gives each tile of
// queries to one task. The backward pass gives each tile of keys to one task, which computes every tile of
// scores once, five products, and adds to dQ when its turn has come: a tile of queries is added to by the
// tiles of keys in their order. So every sum has a fixed order, and the bits do not depend on the number of
// threads.
#pragma once

#include <vector>

#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/result.h"
#include "base/tensor.h"
#include "reference/inputs.h"
#include "reference/parallel.h"
#include "reference/per_output.h"
#include "reference/squares.h"

namespace fmha_bwd {

/// The size of something that every row (or element) has one of.
struct Magnitude {
  double rms = 0.0;
  double max = 0.0;
};

/// 2-norms of the rows (one for each query) or the columns (one for each key, over all heads of its group) of
/// the matrices that the gradients are made of.
struct ScoreNorms {
  Magnitude p;        // P
  Magnitude p_slope;  // P * dS/dx
  Magnitude kept;     // P * Z
  Magnitude ds;       // dS
  Magnitude dx;       // dX
};

/// What is known about a problem once it is computed.
struct AttentionStatistics {
  double p_sparsity =
      0.0;  // share of all pairs, the invisible ones too, with P < 1e-9; 0 where there are none
  Extent d_range;
  // The largest |x| + |softcap(x)| + |bias| + |ALiBi's term| of the pairs with P >= 1e-9, and the largest
  // |sink|.
  double max_score = 0.0;
  ScoreNorms rows;
  ScoreNorms columns;
  std::vector<Squares> query_squares;  // of each row of queries that was computed
  std::vector<Squares> key_squares;
  // 2-norms over the rows of each head of p = exp(sink - LSE) and of p D; zero without sinks.
  Magnitude sink_p;
  Magnitude sink_p_d;
};

/// Every output, in the shapes of base/tensor.h; dBias and dSink are empty where the problem has none. A
/// query that sees no key has O = 0, LSE = -infinity (or the sink), D = 0 and dQ = 0; a key that no query
/// sees has dK = dV = 0.
template <typename Real>
struct Attention : PerOutput<std::vector<Real>> {
  AttentionStatistics statistics;
};

using ExactAttention = Attention<double>;
using TextbookAttention = Attention<float>;

/// In fp64 throughout. Throws std::invalid_argument where the inputs do not have the problem's shapes; those
/// that the problem does not use may have any.
ExactAttention exact_attention(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                               const Workers& workers = {});

/// In the problem's type as an attention kernel computes it: every sum and the softmax in fp32; P * Z
/// and dX rounded to the type, as operands of the products; D from the rounded O; O, dQ, dK, dV and dBias
/// rounded to the type, LSE, D and dSink left in fp32.
TextbookAttention textbook_attention(const Problem& problem, const MaskSpec& mask,
                                     const AttentionInputs& inputs, const Workers& workers = {});

}  // namespace fmha_bwd
