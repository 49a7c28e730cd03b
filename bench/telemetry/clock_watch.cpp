#include "bench/telemetry/clock_watch.h"

#include <utility>

namespace fmha_bwd {

ClockWatch::ClockWatch(DeviceWatch& device, std::chrono::milliseconds period)
    : device_(device), period_(period) {}

void ClockWatch::start() {
  if (thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    readings_.clear();
    stopping_ = false;
  }
  thread_ = std::thread([this] { watch(); });
}

void ClockWatch::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void ClockWatch::watch() {
  for (;;) {
    const WatchTime next = std::chrono::steady_clock::now() + period_;
    try {
      take_reading();
    } catch (...) {  // a measurement does not end for a reading
    }
    std::unique_lock lock(mutex_);
    if (stopped_.wait_until(lock, next, [this] { return stopping_; })) return;
  }
}

void ClockWatch::take_reading() {
  const WatchTime time = std::chrono::steady_clock::now();
  DeviceReading reading = device_.read();
  const std::lock_guard lock(mutex_);
  readings_.push_back({time, std::move(reading)});
}

std::optional<double> ClockWatch::clock_during(WatchTime from, WatchTime to) const {
  const std::lock_guard lock(mutex_);
  return fmha_bwd::clock_during(readings_, from, to);
}

Telemetry ClockWatch::summary(WatchTime from, WatchTime to) const {
  const std::lock_guard lock(mutex_);
  return summary_of(readings_, from, to);
}

}  // namespace fmha_bwd
