#include "bench/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace fmha_bwd {
namespace {

constexpr std::size_t kExactUpTo = 100;  // differences that are not 0

/// Of the differences that are not 0. Ranks are doubled, so that those of ties are whole.
struct SignedRanks {
  std::vector<std::size_t> ranks;
  std::size_t positive = 0;  // the sum of the ranks of positive differences
  double ties = 0.0;         // the sum of t^3 - t over ties of t
};

SignedRanks ranks_of(const std::vector<double>& differences) {
  std::vector<double> sorted;
  std::copy_if(differences.begin(), differences.end(), std::back_inserter(sorted),
               [](double value) { return value != 0.0; });
  std::sort(sorted.begin(), sorted.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  SignedRanks found;
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && std::abs(sorted[end]) == std::abs(sorted[begin])) ++end;
    found.ranks.insert(found.ranks.end(), end - begin, begin + end + 1);
    for (std::size_t i = begin; i < end; ++i) found.positive += sorted[i] > 0.0 ? begin + end + 1 : 0;
    const auto tied = static_cast<double>(end - begin);
    found.ties += tied * tied * tied - tied;
  }
  return found;
}

double exact_p(const SignedRanks& found) {
  // shares[s]: of the signs' combinations so far, those with the rank sum s.
  std::vector<double> shares(found.ranks.size() * (found.ranks.size() + 1) + 1, 0.0);
  shares[0] = 1.0;
  for (const std::size_t rank : found.ranks) {
    for (std::size_t s = shares.size(); s-- > 0;) {
      shares[s] = (shares[s] + (s < rank ? 0.0 : shares[s - rank])) / 2.0;
    }
  }
  const auto extreme = shares.begin() + static_cast<std::ptrdiff_t>(found.positive);
  return std::min(1.0, std::accumulate(extreme, shares.end(), 0.0));
}

double normal_p(const SignedRanks& found) {
  const auto n = static_cast<double>(found.ranks.size());
  const double variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - found.ties / 48.0;
  const double rank_sum = static_cast<double>(found.positive) / 2.0;
  const double z = (rank_sum - n * (n + 1.0) / 4.0 - 0.5) / std::sqrt(variance);
  return std::max(std::erfc(z / std::sqrt(2.0)) / 2.0, std::numeric_limits<double>::min());
}

}  // namespace

double p_of_positive(const std::vector<double>& differences) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (differences.empty() || std::any_of(differences.begin(), differences.end(), is_nan)) {
    throw std::invalid_argument("signed-rank test: no differences, or a NaN");
  }
  const SignedRanks found = ranks_of(differences);
  return found.ranks.size() <= kExactUpTo ? exact_p(found) : normal_p(found);
}

double least_p_of_pairs(std::int64_t pairs) { return std::pow(0.5, static_cast<double>(pairs)); }

}  // namespace fmha_bwd
