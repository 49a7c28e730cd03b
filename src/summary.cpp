#include "src/summary.h"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace fmha_bwd {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Extent extent_of(const std::vector<float>& values) {
  if (values.empty()) return {};
  Extent extent{values.front(), values.front()};
  for (const double x : values) {
    if (std::isnan(x)) return {kNaN, kNaN};
    if (x < extent.min) extent.min = x;
    if (x > extent.max) extent.max = x;
  }
  return extent;
}

GradientSummary summarize(TensorId id, const std::vector<float>& values) {
  GradientSummary summary;
  summary.id = id;
  summary.range = extent_of(values);
  double sum = 0.0;
  double squares = 0.0;
  for (const double x : values) {
    sum += std::abs(x);
    squares += x * x;
  }
  summary.mean_abs = values.empty() ? 0.0 : sum / static_cast<double>(values.size());
  summary.l2_norm = std::sqrt(squares);
  return summary;
}

double max_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) throw std::invalid_argument("max_difference: the sizes differ");
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(difference)) return kNaN;
    if (difference > largest) largest = difference;
  }
  return largest;
}

}  // namespace fmha_bwd
