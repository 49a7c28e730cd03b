#include "bench/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

namespace fmha_bwd {

double p_of_positive(const std::vector<double>& differences) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (differences.empty() || std::any_of(differences.begin(), differences.end(), is_nan)) {
    throw std::invalid_argument("signed-rank test: no differences, or a NaN");
  }
  std::vector<double> sorted;
  std::copy_if(differences.begin(), differences.end(), std::back_inserter(sorted),
               [](double value) { return value != 0.0; });
  std::sort(sorted.begin(), sorted.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  const std::size_t count = sorted.size();
  // shares[s]: of the signs' combinations so far, those with the rank sum s; ranks are doubled, so that those
  // of ties are whole.
  std::vector<double> shares(count * (count + 1) + 1, 0.0);
  shares[0] = 1.0;
  std::size_t observed = 0;
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && std::abs(sorted[end]) == std::abs(sorted[begin])) ++end;
    const std::size_t rank = begin + end + 1;
    for (std::size_t i = begin; i < end; ++i) {
      if (sorted[i] > 0.0) observed += rank;
      for (std::size_t s = shares.size(); s-- > 0;) {
        shares[s] = (shares[s] + (s < rank ? 0.0 : shares[s - rank])) / 2.0;
      }
    }
  }
  const auto extreme = shares.begin() + static_cast<std::ptrdiff_t>(observed);
  return std::min(1.0, std::accumulate(extreme, shares.end(), 0.0));
}

double least_p_of_pairs(std::int64_t pairs) { return std::pow(0.5, static_cast<double>(pairs)); }

}  // namespace fmha_bwd
