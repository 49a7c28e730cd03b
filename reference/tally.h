// What the tasks of the reference contribute to its statistics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/attention.h"
#include "reference/scores.h"

namespace fmha_bwd {

inline constexpr double kNegligible = 1e-9;  // a P below it

/// The squared norms of rows; tallies are added in order.
struct NormTally {
  double sum = 0.0;
  double max = 0.0;
  std::int64_t count = 0;

  void add(double squared_norm) {
    sum += squared_norm;
    max = std::max(max, squared_norm);
    ++count;
  }
  void add(const NormTally& other) {
    sum += other.sum;
    max = std::max(max, other.max);
    count += other.count;
  }
  Magnitude magnitude() const {
    return count == 0 ? Magnitude{} : Magnitude{std::sqrt(sum / static_cast<double>(count)), std::sqrt(max)};
  }
};

/// What one task, or all of them, saw.
struct Tally {
  NormTally p, p_slope, kept, ds, dx;
  std::int64_t significant = 0;  // pairs with P >= kNegligible
  double max_score = 0.0;        // the largest size of their scores

  void add(const Tally& other) {
    p.add(other.p);
    p_slope.add(other.p_slope);
    kept.add(other.kept);
    ds.add(other.ds);
    dx.add(other.dx);
    significant += other.significant;
    max_score = std::max(max_score, other.max_score);
  }
  ScoreNorms norms() const {
    return {p.magnitude(), p_slope.magnitude(), kept.magnitude(), ds.magnitude(), dx.magnitude()};
  }
};

/// Adds up the squares of each row, or each column, of several tiles.
class Squares {
 public:
  explicit Squares(std::int64_t lines) : lines_(static_cast<std::size_t>(lines)) {}

  template <typename Real>
  void add_rows(const ScoreTile<Real>& tile, const Matrix<Real>& ds) {
    add(tile, ds, [](std::int64_t i, std::int64_t) { return i; });
  }
  template <typename Real>
  void add_columns(const ScoreTile<Real>& tile, const Matrix<Real>& ds) {
    add(tile, ds, [](std::int64_t, std::int64_t j) { return j; });
  }
  void tell(Tally& tally) const {
    for (const Line& line : lines_) {
      tally.p.add(line.p);
      tally.p_slope.add(line.p_slope);
      tally.kept.add(line.kept);
      tally.ds.add(line.ds);
      tally.dx.add(line.dx);
    }
  }

 private:
  struct Line {
    double p = 0.0, p_slope = 0.0, kept = 0.0, ds = 0.0, dx = 0.0;
  };

  template <typename Real, typename LineOf>
  void add(const ScoreTile<Real>& tile, const Matrix<Real>& ds, const LineOf& line_of) {
    const auto factor = [](const Matrix<Real>& factors, std::int64_t i, std::int64_t j) {
      return factors.elements.empty() ? 1.0 : static_cast<double>(factors.row(i)[j]);
    };
    for (std::int64_t i = 0; i < ds.rows; ++i) {
      for (std::int64_t j = 0; j < ds.columns; ++j) {
        const auto p = static_cast<double>(tile.p.row(i)[j]);
        const auto gradient = static_cast<double>(ds.row(i)[j]);
        const double slope = factor(tile.slope, i, j);
        const double keep = factor(tile.keep, i, j);
        Line& line = lines_[static_cast<std::size_t>(line_of(i, j))];
        line.p += p * p;
        line.p_slope += p * slope * (p * slope);
        line.kept += p * keep * (p * keep);
        line.ds += gradient * gradient;
        line.dx += gradient * slope * (gradient * slope);
      }
    }
  }

  std::vector<Line> lines_;
};

}  // namespace fmha_bwd
