// What the tasks of the reference saw, and what the statistics make of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/attention.h"
#include "reference/score_terms.h"
#include "reference/simd/tiles.h"

namespace fmha_bwd {

/// Of numbers whose squares these are; zero where there are none.
class SquareTally {
 public:
  void add(double square) {
    sum_ += square;
    max_ = std::max(max_, square);
    ++count_;
  }
  Magnitude magnitude() const {
    return count_ == 0 ? Magnitude{}
                       : Magnitude{std::sqrt(sum_ / static_cast<double>(count_)), std::sqrt(max_)};
  }

 private:
  double sum_ = 0.0;
  double max_ = 0.0;
  std::int64_t count_ = 0;
};

inline ScoreNorms norms_of(const std::vector<Squares>& rows) {
  SquareTally p, p_slope, kept, ds, dx;
  for (const Squares& row : rows) {
    p.add(row.p);
    p_slope.add(row.p_slope);
    kept.add(row.kept);
    ds.add(row.ds);
    dx.add(row.dx);
  }
  return {p.magnitude(), p_slope.magnitude(), kept.magnitude(), ds.magnitude(), dx.magnitude()};
}

/// `pairs` were looked at, the invisible ones too.
template <typename Real>
void describe(const ScoreTerms& terms, const PairTally& tally, double pairs, std::span<const Real> d,
              AttentionStatistics& statistics) {
  if (pairs > 0.0) statistics.p_sparsity = 1.0 - static_cast<double>(tally.significant) / pairs;
  if (!d.empty()) {
    const auto [d_min, d_max] = std::minmax_element(d.begin(), d.end());
    statistics.d_range = {static_cast<double>(*d_min), static_cast<double>(*d_max)};
  }
  statistics.max_score = tally.max_score;
  if (!terms.problem.sink) return;
  for (const float sink : terms.inputs.sink) {
    statistics.max_score = std::max(statistics.max_score, std::abs(static_cast<double>(sink)));
  }
}

/// dSink [nhead_q] of the LSE and D of all rows, and its norms. The problem has sinks.
template <typename Real, typename Known>
void sink_gradient(const ScoreTerms& terms, std::span<const Known> lse, std::span<const Known> d, Real* dsink,
                   AttentionStatistics& statistics) {
  const Shape shape = shape_of(TensorId::d, terms.problem);
  const std::size_t heads = terms.inputs.sink.size();
  std::fill_n(dsink, heads, Real{0});
  std::vector<double> p_squares(heads);
  std::vector<double> p_d_squares(heads);
  for (std::size_t row = 0; row < d.size(); ++row) {
    const auto head = static_cast<std::size_t>(shape.index_of(static_cast<std::int64_t>(row)).head);
    const Real p = std::exp(static_cast<Real>(terms.inputs.sink[head]) - static_cast<Real>(lse[row]));
    const Real p_d = p * static_cast<Real>(d[row]);
    dsink[head] -= p_d;
    p_squares[head] += static_cast<double>(p) * static_cast<double>(p);
    p_d_squares[head] += static_cast<double>(p_d) * static_cast<double>(p_d);
  }
  const auto magnitude = [](const std::vector<double>& squares) {
    SquareTally tally;
    for (const double square : squares) tally.add(square);
    return tally.magnitude();
  };
  statistics.sink_p = magnitude(p_squares);
  statistics.sink_p_d = magnitude(p_d_squares);
}

}  // namespace fmha_bwd
