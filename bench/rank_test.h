// The one-sided Mann-Whitney test: whether values of one sample tend to be larger than those of another.
//
// H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically larger than
// the other", Annals of Mathematical Statistics 18 (1947). The statistic is the sum W of the ranks that the
// first sample's n values have among all n + m; values that tie share the mean of their ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace fmha_bwd {

/// The probability of a rank sum as large as `x` has against `y`, where both are from one distribution: small
/// where x tends to be larger. In (0, 1]. Exact for up to 60 values in all, by the normal approximation for
/// more. Any unit, the same in both. Throws std::invalid_argument where a side is empty or holds a NaN.
double p_of_larger(const std::vector<double>& x, const std::vector<double>& y);

/// The same by counting: the share of the C(n + m, n) ways to choose n of the values that occur, ties
/// included, whose rank sum is at least W.
double exact_p_of_larger(const std::vector<double>& x, const std::vector<double>& y);

/// The same from 1 - Phi((W - n (n + m + 1) / 2 - 1/2) / s), with the continuity correction of 1/2 and
///     s^2 = n m / 12 (n + m + 1 - sum over ties of (t^3 - t) / ((n + m)(n + m - 1)))
/// where t values tie (E. L. Lehmann, "Nonparametrics", 1975, section 1.4). 1 where all values tie.
double normal_p_of_larger(const std::vector<double>& x, const std::vector<double>& y);

/// The smallest p that samples of these sizes can have, without ties: 1 / C(n + m, n).
double least_p(std::int64_t n, std::int64_t m);

}  // namespace fmha_bwd
