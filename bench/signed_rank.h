// The one-sided signed-rank test: whether differences of pairs tend to be positive.
//
// F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945). The statistic is
// the sum V of the ranks of |d| that belong to positive differences; those of 0 are left out, and ties share
// the mean of their ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace fmha_bwd {

/// The probability of a rank sum V as large as that of `differences` where each is as likely to be negative
/// as positive: small where they tend to be positive. In (0, 1]; 1 where all are 0. By counting the signs'
/// 2^n combinations; of more than 100 differences by the normal approximation, with the continuity correction
/// of 1/2 and the variance n (n + 1)(2 n + 1) / 24 - sum over ties of (t^3 - t) / 48 (E. L. Lehmann,
/// "Nonparametrics", 1975, section 3.2). Throws std::invalid_argument where there is none, or a NaN.
double p_of_positive(const std::vector<double>& differences);

/// The smallest p that so many pairs can have: 1 / 2^pairs.
double least_p_of_pairs(std::int64_t pairs);

}  // namespace fmha_bwd
