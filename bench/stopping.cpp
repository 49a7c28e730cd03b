#include "bench/stopping.h"

#include <cmath>

#include "bench/statistics.h"

namespace fmha_bwd {
namespace {

bool has_settled(const std::vector<double>& samples) {
  if (samples.size() < kSettledSamples) return false;
  const auto half = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  const double all = median(samples);
  return std::fabs(median({samples.begin(), half}) - all) < kSettledChange * all;
}

}  // namespace

std::optional<std::string_view> why_stop(const std::vector<double>& samples, double device_seconds,
                                         double host_seconds, const StoppingRule& rule) {
  if (rule.fixed_count) {
    return samples.size() >= *rule.fixed_count ? std::optional<std::string_view>("fixed count")
                                               : std::nullopt;
  }
  if (samples.size() >= rule.least_samples && device_seconds >= rule.min_seconds) {
    if (relative_mad(samples) < kSteadyDeviation) return "steady";
    if (has_settled(samples)) return "settled";
  }
  if (samples.size() >= 2 && host_seconds >= rule.max_seconds) return "time is out";
  return std::nullopt;
}

}  // namespace fmha_bwd
