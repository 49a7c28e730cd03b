#include "bench/stopping.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fmha_bwd {
namespace {

/// `count` samples that deviate from 1 by `deviation`, above and below in turn: their relative median
/// absolute deviation is that.
std::vector<double> samples_of(std::size_t count, double deviation) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(i % 2 == 0 ? 1.0 + deviation : 1.0 - deviation);
  return samples;
}

/// Ten at least, in a second at least, and at most five.
StoppingRule rule() {
  StoppingRule rule;
  rule.min_seconds = 1.0;
  return rule;
}

using Why = std::optional<std::string_view>;

TEST(Stopping, AFixedCountIsExactWhateverTheSamplesAre) {
  StoppingRule fixed = rule();
  fixed.fixed_count = 3;
  EXPECT_EQ(why_stop({1.0, 9.0}, 0.0, 0.0, fixed), std::nullopt);
  EXPECT_EQ(why_stop({1.0, 9.0}, 99.0, 99.0, fixed), std::nullopt);
  EXPECT_EQ(why_stop({1.0, 9.0, 1.0}, 0.0, 0.0, fixed), Why("fixed count"));
}

TEST(Stopping, SteadySamplesAreEnoughFromTenOn) {
  EXPECT_EQ(why_stop(samples_of(9, 0.0), 2.0, 2.0, rule()), std::nullopt);
  EXPECT_EQ(why_stop(samples_of(10, 0.0), 2.0, 2.0, rule()), Why("steady"));
}

TEST(Stopping, SteadySamplesNeedTheLeastDeviceTime) {
  EXPECT_EQ(why_stop(samples_of(10, 0.0), 0.99, 2.0, rule()), std::nullopt);
  EXPECT_EQ(why_stop(samples_of(10, 0.0), 1.0, 2.0, rule()), Why("steady"));
}

TEST(Stopping, SteadyIsLessThanHalfAPercentOfDeviation) {
  EXPECT_EQ(why_stop(samples_of(10, 0.0049), 2.0, 2.0, rule()), Why("steady"));
  EXPECT_EQ(why_stop(samples_of(10, 0.0051), 2.0, 2.0, rule()), std::nullopt);
}

TEST(Stopping, AMedianThatNoLongerMovesHasSettledFromThirtySamplesOn) {
  EXPECT_EQ(why_stop(samples_of(28, 0.1), 2.0, 2.0, rule()), std::nullopt);
  EXPECT_EQ(why_stop(samples_of(32, 0.1), 2.0, 2.0, rule()), Why("settled"));
  EXPECT_EQ(why_stop(samples_of(32, 0.1), 0.5, 2.0, rule()), std::nullopt);
}

TEST(Stopping, AMedianThatMovesByAThousandthHasNotSettled) {
  // The first half's median is 1, that of all is between 1 and 1 + change.
  const auto moved = [](double change) {
    std::vector<double> samples = samples_of(40, 0.1);
    for (std::size_t i = 20; i < 40; ++i) samples[i] += change;
    return samples;
  };
  EXPECT_EQ(why_stop(moved(0.5), 2.0, 2.0, rule()), std::nullopt);
  EXPECT_EQ(why_stop(moved(0.0001), 2.0, 2.0, rule()), Why("settled"));
}

TEST(Stopping, SettledIsWhatTheFirstHalfSaid) {
  // The first half's median and that of all are 1, the second half's is 0.95.
  std::vector<double> samples = {1.0, 1.0};
  samples.insert(samples.end(), 9, 0.9);
  samples.insert(samples.end(), 9, 1.1);
  samples.insert(samples.end(), 10, 0.7);
  samples.insert(samples.end(), 10, 1.2);
  EXPECT_EQ(why_stop(samples, 2.0, 2.0, rule()), Why("settled"));
}

TEST(Stopping, TheTimeIsOutAfterMaxSecondsOfTheHost) {
  EXPECT_EQ(why_stop(samples_of(5, 0.1), 0.0, 4.99, rule()), std::nullopt);
  EXPECT_EQ(why_stop(samples_of(5, 0.1), 0.0, 5.0, rule()), Why("time is out"));
}

TEST(Stopping, TwoSamplesAreTakenHoweverLongTheyLast) {
  EXPECT_EQ(why_stop({}, 0.0, 100.0, rule()), std::nullopt);
  EXPECT_EQ(why_stop({1.0}, 100.0, 100.0, rule()), std::nullopt);
  EXPECT_EQ(why_stop({1.0, 2.0}, 100.0, 100.0, rule()), Why("time is out"));
}

TEST(Stopping, SteadySamplesAreSteadyWhenTheTimeIsOutToo) {
  EXPECT_EQ(why_stop(samples_of(10, 0.0), 9.0, 9.0, rule()), Why("steady"));
}

}  // namespace
}  // namespace fmha_bwd
