#include "bench/telemetry/clock_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace fmha_bwd {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;

/// A device whose clock is 1000 MHz and one more with each reading; every third reading throws where
/// `throws`.
class CountingDevice final : public DeviceWatch {
 public:
  explicit CountingDevice(bool throws = false) : throws_(throws) {}

  const DeviceFacts& facts() const override { return facts_; }

  DeviceReading read() override {
    const std::lock_guard lock(mutex_);
    ++count_;
    counted_.notify_all();
    if (throws_ && count_ % 3 == 0) throw std::runtime_error("not now");
    return {1000.0 + count_, 500.0, 60.0, {"power cap"}};
  }

  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    counted_.wait(lock, [&] { return count_ >= count; });
  }

  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  const bool throws_;
  DeviceFacts facts_;
  std::mutex mutex_;
  std::condition_variable counted_;
  int count_ = 0;
};

constexpr std::chrono::milliseconds kFast{1};
constexpr std::chrono::hours kNever{1};

TEST(ClockWatchTest, ReadsAgainAndAgainUntilItIsStopped) {
  CountingDevice device;
  ClockWatch watch(device, kFast);
  const WatchTime from = steady_clock::now();
  watch.start();
  device.wait_for(5);
  watch.stop();
  const WatchTime to = steady_clock::now();
  const int count = device.count();
  EXPECT_EQ(watch.clock_during(from, to), 1001.0);  // the first is the lowest
  const Telemetry summary = watch.summary(from, to);
  EXPECT_EQ(summary.clock_mhz, 1000.0 + (1 + count) / 2.0);
  EXPECT_EQ(summary.power_watts, 500.0);
  EXPECT_EQ(summary.temperature_c, 60.0);
  EXPECT_THAT(summary.throttle, ElementsAre("power cap"));
}

TEST(ClockWatchTest, ReadsOnceHoweverSoonItIsStopped) {
  CountingDevice device;
  ClockWatch watch(device, kNever);
  watch.start();
  watch.stop();  // at once, not after the hour
  EXPECT_EQ(device.count(), 1);
  EXPECT_EQ(watch.clock_during(steady_clock::now(), steady_clock::now()), 1001.0);
}

TEST(ClockWatchTest, StopsAtOnceWhileItWaitsForTheNextReading) {
  CountingDevice device;
  ClockWatch watch(device, kNever);
  watch.start();
  device.wait_for(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it waits, most likely
  watch.stop();
  EXPECT_EQ(device.count(), 1);
}

TEST(ClockWatchTest, ForgetsTheReadingsOfTheTimeBefore) {
  CountingDevice device;
  ClockWatch watch(device, kNever);
  watch.start();
  watch.stop();
  watch.start();
  watch.stop();
  EXPECT_EQ(watch.clock_during(WatchTime(), steady_clock::now()), 1002.0);
}

TEST(ClockWatchTest, MayBeStartedAndStoppedTwice) {
  CountingDevice device;
  ClockWatch watch(device, kNever);
  watch.stop();
  watch.start();
  watch.start();
  watch.stop();
  watch.stop();
  EXPECT_EQ(device.count(), 1);
}

TEST(ClockWatchTest, LeavesOutReadingsThatThrow) {
  CountingDevice device(true);
  ClockWatch watch(device, kFast);
  const WatchTime from = steady_clock::now();
  watch.start();
  device.wait_for(5);
  EXPECT_EQ(watch.clock_during(from, from), 1001.0);
  device.wait_for(7);
  watch.stop();
  EXPECT_EQ(watch.summary(from, steady_clock::now()).power_watts, 500.0);
}

TEST(ClockWatchTest, AnswersWhileItReads) {
  CountingDevice device;
  ClockWatch watch(device, kFast);
  const WatchTime from = steady_clock::now();
  watch.start();
  for (int i = 2; i < 20; ++i) {
    device.wait_for(i);
    EXPECT_EQ(watch.clock_during(from, steady_clock::now()), 1001.0);
    EXPECT_TRUE(watch.summary(from, steady_clock::now()).clock_mhz);
  }
}

TEST(ClockWatchTest, HasNothingToSayBeforeItStarts) {
  CountingDevice device;
  const ClockWatch watch(device);
  EXPECT_EQ(watch.clock_during(steady_clock::now(), steady_clock::now()), std::nullopt);
  EXPECT_EQ(watch.summary(steady_clock::now(), steady_clock::now()).power_watts, std::nullopt);
}

}  // namespace
}  // namespace fmha_bwd
