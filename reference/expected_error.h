// What rounding is expected to do to each output, to first order.
//
// The textbook implementation shows on the very data what rounding does, but its error is one draw: where few
// elements share few roundings it may be small by luck, down to exactly zero (1 query x 1 key: dS = 0 only if
// dP and D happen to be summed in the same order). So there is also an estimate from the sizes of what is
// multiplied. Roundings are taken as independent, so that errors add in quadrature:
//
//   - a value rounded to a type of unit roundoff u errs by u/sqrt(3) of its size (uniform over the last bit);
//   - an fp32 sum of n terms errs by 2^-24 sqrt(n) times the root of the sum of its squared terms;
//   - where its terms a_k b_k have means, it also errs by g = 2^-24 sqrt(n) / 3 times n mean(a) mean(b): its
//     partial sums grow to that, their mean square is a third of its square, and each is rounded by 1 /
//     sqrt(3) of half its last bit;
//   - a sum of coefficients with relative errors r, sum_n c_n x_n, errs by r |c|_2 rms(x).
//
// In the words of reference/attention.h, with s = the error of a score, r = u/sqrt(3) + the error of the
// exponent, and |.| of a row or a column of a matrix its 2-norm (ScoreNorms):
//
//   s        = 2^-24 (sqrt(hdim_q) |scale| |Q_i| rms(K) + the largest sum of a score's terms) + |scale| g
//   LSE      : s + 2^-24 sqrt(seqlen_k); l = that + 2^-24 log(1 + seqlen_k), with its own rounding
//   O        : r |P Z| rms(V), and rounded
//   D        : |dO_i| times the error of O, and its own sum's, with g |D|
//   dP - D   : e = the error of D + 2^-24 sqrt(hdim_v) |dO_i| rms(V) / (1 - probability) + g |D|, for dP
//              is as large as its mean
//   dS/dx    : f = 2^-24 + 2 s / softcap; 0 without a soft-cap
//   dQ       : scale rms(K) (r |dX_i| + f |dS_i| + |P dS/dx|_i e) + scale mean(K) |P dS/dx|_i a + l |dQ|
//   dK       : scale rms(Q) (r |dX^T_j| + f |dS^T_j| + |P dS/dx|_j e) + scale mean(Q) |P dS/dx|_j a + l |dK|
//   dV       : r |P Z|_j rms(dO) + l |dV|
//   dBias    : r dS + P e, for an element the sum of one or more pairs
//   dSink    : s |p D| + |p| the error of D + r |dSink|, with p = exp(sink - LSE) of the rows of a head; the
//              last for what all rows share, such as the rounding of 1 / (1 - probability)
//
// where l |.| is of an LSE that errs, which takes all P of its row along, and where rows are alike all of a
// column; a, sqrt(n) times the errors of the sums in e, is of those that are alike for all n keys or queries;
// mean(.) is what all rows have in common; and where r of a sum over n pairs also holds that sum's 2^-24
// sqrt(n). The rounding of the outputs O, dQ, dK, dV and dBias to their type is added by verify(), which
// knows their size.
#pragma once

#include <vector>

#include "base/problem.h"
#include "base/tensor.h"
#include "reference/attention.h"
#include "reference/inputs.h"
#include "reference/per_output.h"

namespace fmha_bwd {

/// How large the elements of a tensor are.
struct Spread {
  double rms = 0.0;      // of all
  double row_rms = 0.0;  // of those of the largest row
  double max = 0.0;      // the largest
};

/// The expected errors of each output's elements.
struct ExpectedErrors : PerOutput<Spread> {
  /// Of the elements of each row of O, dQ, dK and dV, with the norms of that row or column of the matrices,
  /// and the largest of all else; empty for the other outputs.
  PerOutput<std::vector<double>> rows;
};

/// `exact` is the truth for `inputs`.
ExpectedErrors expected_errors(const Problem& problem, const AttentionInputs& inputs,
                               const ExactAttention& exact);

}  // namespace fmha_bwd
