#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace fmha_bwd {

double median(std::vector<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  if (samples.size() % 2 == 1) return samples[middle];
  return (samples[middle - 1] + samples[middle]) / 2.0;
}

double mean(const std::vector<double>& samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double standard_deviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double center = mean(samples);
  double squares = 0.0;
  for (const double x : samples) squares += (x - center) * (x - center);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

double relative_mad(const std::vector<double>& samples) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(samples.begin(), samples.end(), is_finite))
    return std::numeric_limits<double>::quiet_NaN();
  const double center = median(samples);
  if (!(center > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> deviations;
  for (const double x : samples) deviations.push_back(std::abs(x - center));
  return median(std::move(deviations)) / center;
}

}  // namespace fmha_bwd
