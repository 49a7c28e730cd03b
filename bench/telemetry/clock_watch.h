// A thread that reads a device while it is measured.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bench/telemetry/clock_readings.h"
#include "bench/telemetry/device_watch.h"

namespace fmha_bwd {

/// Its functions may be called from any thread, start() and stop() from one at a time. A reading for which
/// the DeviceWatch throws is left out.
class ClockWatch {
 public:
  /// `device` outlives this, and nobody else reads it between start() and stop().
  explicit ClockWatch(DeviceWatch& device, std::chrono::milliseconds period = std::chrono::milliseconds(10));
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch() { stop(); }

  /// Forgets the readings there are, and reads at once and then every `period`. Nothing happens where it does
  /// so already. Throws std::system_error where there can be no thread.
  void start();
  /// Returns when the last reading is taken; the readings stay.
  void stop() noexcept;

  /// As the functions of clock_readings.h, of the readings so far.
  std::optional<double> clock_during(WatchTime from, WatchTime to) const;
  Telemetry summary(WatchTime from, WatchTime to) const;

 private:
  void watch();
  void take_reading();

  DeviceWatch& device_;
  const std::chrono::milliseconds period_;
  std::thread thread_;
  mutable std::mutex mutex_;  // of what is below
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::vector<TimedReading> readings_;
};

}  // namespace fmha_bwd
