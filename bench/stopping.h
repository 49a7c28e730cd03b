// When to stop taking samples: a pure rule, so that it can be tested without a clock.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace fmha_bwd {

struct StoppingRule {
  std::optional<std::size_t> fixed_count;  // exactly so many samples, whatever they are: for gates
  std::size_t least_samples = 10;
  double min_seconds = 0.5;  // of device time, at least
  double max_seconds = 5.0;  // of the host's time, at most; two samples are taken all the same
};

/// Relative median absolute deviation at which samples are steady.
inline constexpr double kSteadyDeviation = 0.005;
/// The medians of all samples and of their first half differ by less than this share of the former where the
/// estimate has settled. Looked at from kSettledSamples on.
inline constexpr double kSettledChange = 0.001;
inline constexpr std::size_t kSettledSamples = 30;

/// Why `samples` (milliseconds) are enough after `device_seconds` of measured passes and `host_seconds` in
/// all: "fixed count", "steady" (at least least_samples in min_seconds, and they deviate little), "settled"
/// (as many, and the median no longer moves) or "time is out". Nothing while more are wanted.
std::optional<std::string_view> why_stop(const std::vector<double>& samples, double device_seconds,
                                         double host_seconds, const StoppingRule& rule);

}  // namespace fmha_bwd
