// Holm's step-down correction for many tests.
#pragma once

#include <vector>

namespace fmha_bwd {

/// The adjusted p of each test, in the order given: of the k-th smallest of m, the largest of
/// (m - j + 1) p_j over j <= k, and 1 at most. Rejecting those below alpha keeps the probability of any false
/// rejection below alpha. S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
/// Journal of Statistics 6 (1979).
std::vector<double> holm(const std::vector<double>& p);

}  // namespace fmha_bwd
