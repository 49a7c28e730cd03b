#include "bench/rank_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

namespace fmha_bwd {
namespace {

constexpr std::size_t kExactUpTo = 60;  // values in all

/// Ranks in the pooled sample, doubled, so that those of ties are whole.
struct Ranks {
  std::vector<std::size_t> doubled;  // x's first
  double ties = 0.0;                 // the sum of t^3 - t
};

Ranks ranks_of(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> values = x;
  values.insert(values.end(), y.begin(), y.end());
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (x.empty() || y.empty() || std::any_of(values.begin(), values.end(), is_nan)) {
    throw std::invalid_argument("rank test: a side is empty or holds a NaN");
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  Ranks ranks{.doubled = std::vector<std::size_t>(values.size())};
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks.doubled[order[i]] = begin + end + 1;
    const auto tied = static_cast<double>(end - begin);
    ranks.ties += tied * tied * tied - tied;
  }
  return ranks;
}

/// Of the first `count`.
std::size_t sum_of(const std::vector<std::size_t>& ranks, std::size_t count) {
  return std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count), std::size_t{0});
}

}  // namespace

double p_of_larger(const std::vector<double>& x, const std::vector<double>& y) {
  return x.size() + y.size() <= kExactUpTo ? exact_p_of_larger(x, y) : normal_p_of_larger(x, y);
}

double exact_p_of_larger(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<std::size_t> ranks = ranks_of(x, y).doubled;
  const std::size_t chosen = x.size();
  const std::size_t sums = sum_of(ranks, ranks.size()) + 1;
  // ways[k * sums + s]: how many choices of k of the ranks so far have the sum s.
  std::vector<double> ways((chosen + 1) * sums, 0.0);
  ways[0] = 1.0;
  for (const std::size_t rank : ranks) {
    for (std::size_t k = chosen; k > 0; --k) {
      for (std::size_t s = rank; s < sums; ++s) ways[k * sums + s] += ways[(k - 1) * sums + s - rank];
    }
  }
  const auto all = ways.end() - static_cast<std::ptrdiff_t>(sums);
  const auto extreme = all + static_cast<std::ptrdiff_t>(sum_of(ranks, chosen));
  const double as_large = std::accumulate(extreme, ways.end(), 0.0);
  return as_large / (std::accumulate(all, extreme, 0.0) + as_large);
}

double normal_p_of_larger(const std::vector<double>& x, const std::vector<double>& y) {
  const Ranks ranks = ranks_of(x, y);
  const auto n = static_cast<double>(x.size());
  const auto m = static_cast<double>(y.size());
  const double total = n + m;
  const double variance = n * m / 12.0 * (total + 1.0 - ranks.ties / (total * (total - 1.0)));
  if (!(variance > 0.0)) return 1.0;
  const double rank_sum = static_cast<double>(sum_of(ranks.doubled, x.size())) / 2.0;
  const double z = (rank_sum - n * (total + 1.0) / 2.0 - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0)) / 2.0;
}

double least_p(std::int64_t n, std::int64_t m) {
  double p = 1.0;
  for (std::int64_t i = 1; i <= n; ++i) p *= static_cast<double>(i) / static_cast<double>(m + i);
  return p;
}

}  // namespace fmha_bwd
