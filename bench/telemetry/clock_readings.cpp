#include "bench/telemetry/clock_readings.h"

#include <algorithm>
#include <set>

#include "bench/statistics.h"

namespace fmha_bwd {
namespace {

/// The `wanted` ones in [from, to], or the one nearest to it; none of none.
template <class Wanted>
std::vector<const DeviceReading*> during(const std::vector<TimedReading>& readings, WatchTime from,
                                         WatchTime to, const Wanted& wanted) {
  std::vector<const DeviceReading*> inside;
  const DeviceReading* nearest = nullptr;
  auto least = WatchTime::duration::max();
  for (const auto& [time, reading] : readings) {
    if (!wanted(reading)) continue;
    const auto distance = std::max({from - time, time - to, WatchTime::duration::zero()});
    if (distance == distance.zero()) inside.push_back(&reading);
    if (distance < least) nearest = &reading;
    least = std::min(least, distance);
  }
  if (inside.empty() && nearest != nullptr) inside.push_back(nearest);
  return inside;
}

void keep_larger(std::optional<double>& largest, const std::optional<double>& value) {
  if (value && !(largest >= value)) largest = value;
}

}  // namespace

std::optional<double> clock_during(const std::vector<TimedReading>& readings, WatchTime from, WatchTime to) {
  const auto has_clock = [](const DeviceReading& reading) { return reading.clock_mhz.has_value(); };
  std::optional<double> lowest;
  for (const DeviceReading* reading : during(readings, from, to, has_clock)) {
    lowest = std::min(*reading->clock_mhz, lowest.value_or(*reading->clock_mhz));
  }
  return lowest;
}

Telemetry summary_of(const std::vector<TimedReading>& readings, WatchTime from, WatchTime to) {
  Telemetry summary;
  std::vector<double> clocks;
  std::set<std::string> reasons;
  for (const DeviceReading* reading : during(readings, from, to, [](const auto&) { return true; })) {
    if (reading->clock_mhz) clocks.push_back(*reading->clock_mhz);
    keep_larger(summary.power_watts, reading->power_watts);
    keep_larger(summary.temperature_c, reading->temperature_c);
    reasons.insert(reading->throttle.begin(), reading->throttle.end());
  }
  if (!clocks.empty()) summary.clock_mhz = median(std::move(clocks));
  summary.throttle.assign(reasons.begin(), reasons.end());
  return summary;
}

}  // namespace fmha_bwd
