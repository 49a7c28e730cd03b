// Readings of a device over time, and what they say of an interval: pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "bench/results.h"
#include "bench/telemetry/device_watch.h"

namespace fmha_bwd {

using WatchTime = std::chrono::steady_clock::time_point;

struct TimedReading {
  WatchTime time;
  DeviceReading reading;
};

/// The lowest clock read in [from, to], in MHz; where none was, the one read nearest before or after. Nothing
/// where no reading has a clock.
std::optional<double> clock_during(const std::vector<TimedReading>& readings, WatchTime from, WatchTime to);

/// Of the readings in [from, to]: the median clock, the largest power and temperature, every reason to
/// throttle. Of the one nearest before or after where there is none.
Telemetry summary_of(const std::vector<TimedReading>& readings, WatchTime from, WatchTime to);

}  // namespace fmha_bwd
