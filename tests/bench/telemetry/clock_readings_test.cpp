#include "bench/telemetry/clock_readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

WatchTime at(int milliseconds) { return WatchTime(std::chrono::milliseconds(milliseconds)); }

TimedReading reading(int milliseconds, std::optional<double> clock, std::optional<double> power = {},
                     std::optional<double> temperature = {}, std::vector<std::string> throttle = {}) {
  return {at(milliseconds), {clock, power, temperature, std::move(throttle)}};
}

TEST(ClockDuring, IsTheLowestOfTheInterval) {
  const std::vector<TimedReading> readings = {reading(0, 900.0), reading(10, 1980.0), reading(20, 1500.0),
                                              reading(30, 1970.0), reading(40, 1000.0)};
  EXPECT_EQ(clock_during(readings, at(10), at(30)), 1500.0);
  EXPECT_EQ(clock_during(readings, at(30), at(30)), 1970.0);
}

TEST(ClockDuring, IsTheNearestWhereNoneFallsInside) {
  const std::vector<TimedReading> readings = {reading(0, 900.0), reading(10, 1980.0), reading(20, 1500.0)};
  EXPECT_EQ(clock_during(readings, at(11), at(13)), 1980.0);
  EXPECT_EQ(clock_during(readings, at(17), at(19)), 1500.0);
  EXPECT_EQ(clock_during(readings, at(-5), at(-2)), 900.0);
  EXPECT_EQ(clock_during(readings, at(100), at(101)), 1500.0);
}

TEST(ClockDuring, PassesOverReadingsWithoutAClock) {
  const std::vector<TimedReading> readings = {reading(0, 900.0), reading(10, std::nullopt),
                                              reading(20, std::nullopt), reading(40, 1500.0)};
  EXPECT_EQ(clock_during(readings, at(5), at(15)), 900.0);
  EXPECT_EQ(clock_during(readings, at(0), at(20)), 900.0);
}

TEST(ClockDuring, IsNothingWhereNoReadingHasAClock) {
  EXPECT_EQ(clock_during({}, at(0), at(10)), std::nullopt);
  EXPECT_EQ(clock_during({reading(5, std::nullopt)}, at(0), at(10)), std::nullopt);
}

TEST(SummaryOf, TakesTheMedianClockTheLargestOthersAndEveryReason) {
  const std::vector<TimedReading> readings = {
      reading(0, 100.0, 999.0, 99.0, {"power brake"}),
      reading(10, 1900.0, 500.0, 60.0, {"thermal"}),
      reading(20, 1000.0, 650.0, 63.0, {"power cap", "thermal"}),
      reading(30, 1980.0, 600.0, 62.0),
      reading(40, 100.0, 999.0, 99.0, {"power brake"}),
  };
  const Telemetry summary = summary_of(readings, at(10), at(30));
  EXPECT_EQ(summary.clock_mhz, 1900.0);
  EXPECT_EQ(summary.power_watts, 650.0);
  EXPECT_EQ(summary.temperature_c, 63.0);
  EXPECT_THAT(summary.throttle, ElementsAre("power cap", "thermal"));
}

TEST(SummaryOf, LeavesOutWhatNoReadingHas) {
  const Telemetry summary =
      summary_of({reading(10, std::nullopt, 500.0), reading(20, 1900.0)}, at(0), at(30));
  EXPECT_EQ(summary.clock_mhz, 1900.0);
  EXPECT_EQ(summary.power_watts, 500.0);
  EXPECT_EQ(summary.temperature_c, std::nullopt);
  EXPECT_THAT(summary.throttle, IsEmpty());
  EXPECT_EQ(summary_of({}, at(0), at(30)).clock_mhz, std::nullopt);
}

TEST(SummaryOf, IsOfTheNearestReadingWhereNoneFallsInside) {
  const std::vector<TimedReading> readings = {reading(0, 900.0, 400.0), reading(10, 1900.0, 500.0)};
  EXPECT_EQ(summary_of(readings, at(7), at(8)).clock_mhz, 1900.0);
  EXPECT_EQ(summary_of(readings, at(2), at(3)).power_watts, 400.0);
}

}  // namespace
}  // namespace fmha_bwd
