#include "bench/telemetry/slow_clock.h"

#include <algorithm>
#include <cmath>

namespace fmha_bwd {
namespace {

bool is_known(const std::optional<double>& clock) { return clock && std::isfinite(*clock) && *clock > 0.0; }

}  // namespace

std::optional<double> reference_clock(const SampleClocks& clocks) {
  std::vector<double> known;
  for (const auto& clock : clocks) {
    if (is_known(clock)) known.push_back(*clock);
  }
  if (known.empty()) return std::nullopt;
  const auto found = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), found, known.end());
  return *found;
}

SlowClocks slow_clocks(const SampleClocks& clocks, std::optional<double> reference, double most_discarded) {
  SlowClocks found;
  if (!is_known(reference)) return found;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    if (is_known(clocks[i]) && *clocks[i] < kSlowClock * *reference) found.discarded.push_back(i);
  }
  const double most = most_discarded * static_cast<double>(clocks.size());
  if (!found.discarded.empty() &&
      (static_cast<double>(found.discarded.size()) > most || found.discarded.size() == clocks.size())) {
    found = {{}, true};
  }
  return found;
}

bool is_out_of_order(const std::vector<std::string>& throttle) {
  return std::any_of(throttle.begin(), throttle.end(), [](const std::string& reason) {
    return reason != "power cap" && reason != "sync boost";
  });
}

}  // namespace fmha_bwd
