#include "bench/telemetry/slow_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

SampleClocks repeated(std::size_t count, double clock) { return SampleClocks(count, clock); }

TEST(ReferenceClock, IsTheMedianTheHigherOfTwo) {
  EXPECT_EQ(reference_clock({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}), 6.0);
  EXPECT_EQ(reference_clock({5.0, 1.0, 4.0, 2.0, 3.0}), 3.0);
  EXPECT_EQ(reference_clock({1700.0}), 1700.0);
}

TEST(ReferenceClock, IsNotMovedByBoostsBeforeThePowerCapIsReached) {
  SampleClocks clocks = repeated(10, 1700.0);
  clocks[0] = clocks[1] = clocks[2] = 1980.0;
  EXPECT_EQ(reference_clock(clocks), 1700.0);
  EXPECT_FALSE(slow_clocks(clocks, reference_clock(clocks)).throttled);
}

TEST(ReferenceClock, PassesOverWhatIsNoClock) {
  EXPECT_EQ(reference_clock({std::nullopt, kNan, 1700.0, kInfinity, 0.0, -1.0}), 1700.0);
  EXPECT_EQ(reference_clock({std::nullopt, kNan, 0.0}), std::nullopt);
  EXPECT_EQ(reference_clock({}), std::nullopt);
}

TEST(SlowClocksTest, DiscardsWhatIsBelow95PercentOfTheReference) {
  SampleClocks clocks = repeated(10, 2000.0);
  clocks[2] = 1899.0;
  clocks[5] = 1900.0;  // 95 %: not below
  clocks[9] = 1000.0;
  const SlowClocks found = slow_clocks(clocks, 2000.0);
  EXPECT_THAT(found.discarded, ElementsAre(2, 9));
  EXPECT_FALSE(found.throttled);
}

TEST(SlowClocksTest, DiscardsNoneWhereMoreThanAFifthAreSlow) {
  SampleClocks clocks = repeated(10, 2000.0);
  clocks[1] = clocks[2] = clocks[3] = 1500.0;
  const SlowClocks found = slow_clocks(clocks, reference_clock(clocks));
  EXPECT_THAT(found.discarded, IsEmpty());
  EXPECT_TRUE(found.throttled);
}

TEST(SlowClocksTest, TakesTheShareOfAllSamples) {
  SampleClocks clocks = {1500.0, std::nullopt, std::nullopt, std::nullopt, 2000.0};
  EXPECT_THAT(slow_clocks(clocks, 2000.0).discarded, ElementsAre(0));
  clocks.pop_back();
  EXPECT_TRUE(slow_clocks(clocks, 2000.0).throttled);
}

TEST(SlowClocksTest, HeedsAnotherShare) {
  const SampleClocks clocks = {1500.0, 2000.0};
  EXPECT_THAT(slow_clocks(clocks, 2000.0, 0.5).discarded, ElementsAre(0));
  EXPECT_TRUE(slow_clocks(clocks, 2000.0, 0.4).throttled);
}

TEST(SlowClocksTest, NeverDiscardsAll) {
  const SlowClocks found = slow_clocks({1500.0, 1500.0}, 2000.0, 1.0);
  EXPECT_THAT(found.discarded, IsEmpty());
  EXPECT_TRUE(found.throttled);
}

TEST(SlowClocksTest, KeepsSamplesOfUnknownClock) {
  const SlowClocks found = slow_clocks({std::nullopt, kNan, 0.0, -5.0, 2000.0, kInfinity}, 2000.0);
  EXPECT_THAT(found.discarded, IsEmpty());
  EXPECT_FALSE(found.throttled);
}

TEST(SlowClocksTest, FindsNothingSlowWhereAllAreAlike) {
  const SampleClocks clocks = repeated(7, 1234.0);
  EXPECT_THAT(slow_clocks(clocks, reference_clock(clocks)).discarded, IsEmpty());
  EXPECT_FALSE(slow_clocks(clocks, reference_clock(clocks)).throttled);
}

TEST(OutOfOrder, IsWhatALoadAtThePowerCapDoesNotBringAbout) {
  EXPECT_FALSE(is_out_of_order({}));
  EXPECT_FALSE(is_out_of_order({"power cap"}));
  EXPECT_FALSE(is_out_of_order({"power cap", "sync boost"}));
  for (const char* reason : {"thermal", "hardware thermal", "hardware slowdown", "power brake"}) {
    EXPECT_TRUE(is_out_of_order({"power cap", reason})) << reason;
  }
}

TEST(SlowClocksTest, FindsNothingSlowWithoutAReferenceOrSamples) {
  for (const std::optional<double> reference : {std::optional<double>(), std::optional(kNan)}) {
    EXPECT_THAT(slow_clocks({1000.0, 2000.0}, reference).discarded, IsEmpty());
    EXPECT_FALSE(slow_clocks({1000.0, 2000.0}, reference).throttled);
  }
  EXPECT_THAT(slow_clocks({}, 2000.0).discarded, IsEmpty());
  EXPECT_FALSE(slow_clocks({}, 2000.0).throttled);
}

}  // namespace
}  // namespace fmha_bwd
