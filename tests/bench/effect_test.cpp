#include "bench/effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/made_up_results.h"

namespace fmha_bwd {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

/// Rounds of 1, 2 .. 9 ms on the base, and that times a factor a round on the new side.
Sides drifting(const std::vector<double>& factors, bool paired) {
  Sides sides;
  sides.paired = paired;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    sides.base.push_back(static_cast<double>(i + 1));
    sides.latest.push_back(sides.base.back() * factors[i]);
  }
  return sides;
}

const std::vector<double> kFactors = {1.02, 1.03, 1.04, 1.03, 1.035, 1.025, 1.03, 1.045, 1.05};

TEST(RatioBetween, IsOfTheMediansWithoutPairs) {
  EXPECT_DOUBLE_EQ(ratio_between(drifting(kFactors, false), {}).value, 5.0 * 1.035 / 5.0);
}

TEST(RatioBetween, IsTheMedianOfThePairs) {
  const Ratio ratio = ratio_between(drifting(kFactors, true), {});
  EXPECT_DOUBLE_EQ(ratio.value, 1.03);
  EXPECT_GE(ratio.interval.low, 1.02);
  EXPECT_LE(ratio.interval.high, 1.05);
}

TEST(EvidenceBetween, SeesThroughADriftByPairs) {
  EXPECT_DOUBLE_EQ(evidence_between(drifting(kFactors, true), 0.01).p_slower, 1.0 / 512.0);
  EXPECT_GT(evidence_between(drifting(kFactors, false), 0.01).p_slower, 0.3);
}

TEST(EvidenceBetween, MirrorsSlowerAndFaster) {
  Sides sides = drifting(kFactors, true);
  std::swap(sides.base, sides.latest);
  const Evidence evidence = evidence_between(sides, 0.01);
  EXPECT_DOUBLE_EQ(evidence.p_faster, 1.0 / 512.0);
  EXPECT_DOUBLE_EQ(evidence.p_slower, 1.0);
}

TEST(EvidenceBetween, AsksForMoreThanTheLimit) {
  for (const bool paired : {true, false}) {
    EXPECT_GT(evidence_between(drifting(std::vector<double>(9, 1.005), paired), 0.01).p_slower, 0.5);
    EXPECT_GT(evidence_between(drifting(std::vector<double>(9, 0.995), paired), 0.01).p_faster, 0.5);
  }
  EXPECT_DOUBLE_EQ(evidence_between(drifting(std::vector<double>(9, 1.011), true), 0.01).p_slower,
                   1.0 / 512.0);
  EXPECT_DOUBLE_EQ(evidence_between(drifting(std::vector<double>(9, 0.989), true), 0.01).p_faster,
                   1.0 / 512.0);
  EXPECT_GT(evidence_between(drifting(std::vector<double>(9, 0.9905), true), 0.01).p_faster, 0.5);
}

TEST(EvidenceBetween, WeighsPairsByTheirRatiosNotByTheirTimes) {
  // The longest rounds, by a little faster, do not outweigh the shortest, by much slower.
  const Sides sides = drifting({1.5, 1.4, 1.3, 1.25, 1.2, 1.15, 1.1, 1.02, 0.96}, true);
  EXPECT_DOUBLE_EQ(evidence_between(sides, 0.01).p_slower, 3.0 / 512.0);
}

TEST(EvidenceBetween, KnowsTheLeastP) {
  EXPECT_DOUBLE_EQ(evidence_between(drifting(kFactors, true), 0.01).least_p, 1.0 / 512.0);
  EXPECT_DOUBLE_EQ(evidence_between(drifting(kFactors, false), 0.01).least_p, 1.0 / 48620.0);
}

/// Two rounds, with replays.
BenchCase replayed(double first, double second) {
  BenchCase item = case_of("a", {10.0, 20.0});
  item.rounds[0].graph_ms = {first};
  item.rounds[1].graph_ms = {9.0, second, 0.1};
  return item;
}

TEST(TimesBetween, AreOfReplaysWhereEveryRoundHasThem) {
  const BenchCase base = replayed(1.0, 2.0);
  BenchCase latest = replayed(3.0, 4.0);
  EXPECT_TRUE(has_replays(base, latest));
  EXPECT_THAT(times_between(base, latest, false).base, ElementsAre(1.0, 2.0));
  EXPECT_THAT(times_between(base, latest, false).latest, ElementsAre(3.0, 4.0));
  latest.rounds[1].graph_ms.clear();
  EXPECT_FALSE(has_replays(base, latest));
  EXPECT_FALSE(has_replays(latest, base));
  EXPECT_THAT(times_between(base, latest, false).base, ElementsAre(10.0, 20.0));
}

TEST(CyclesBetween, AreTimesTimesClocks) {
  BenchCase base = replayed(1.0, 2.0);
  BenchCase latest = replayed(3.0, 4.0);
  EXPECT_FALSE(cycles_between(base, latest, false));
  for (BenchCase* item : {&base, &latest}) {
    item->rounds[0].telemetry.clock_mhz = 1500.0;
    item->rounds[1].telemetry.clock_mhz = 2000.0;
  }
  EXPECT_THAT(cycles_between(base, latest, false)->base, ElementsAre(DoubleEq(1.5), DoubleEq(4.0)));
  EXPECT_THAT(cycles_between(base, latest, false)->latest, ElementsAre(DoubleEq(4.5), DoubleEq(8.0)));
  EXPECT_TRUE(cycles_between(base, latest, true)->paired);
  EXPECT_FALSE(cycles_between(base, latest, false)->paired);
}

TEST(CyclesBetween, AreNoneUnlessEveryClockIsKnownFromOneSource) {
  const auto clocked = [] {
    BenchCase item = replayed(1.0, 2.0);
    for (Round& round : item.rounds) round.telemetry = {1500.0, "counters", {}, {}, {}};
    return item;
  };
  ASSERT_TRUE(cycles_between(clocked(), clocked(), false));
  std::vector<BenchCase> others(4, clocked());
  others[0].rounds[1].telemetry.clock_mhz.reset();
  others[1].rounds[1].telemetry.clock_mhz = 0.0;
  others[2].rounds[1].telemetry.clock_source = "library";
  for (Round& round : others[3].rounds) round.telemetry.clock_source = "library";
  for (const BenchCase& other : others) {
    EXPECT_FALSE(cycles_between(clocked(), other, false));
    EXPECT_FALSE(cycles_between(other, clocked(), false));
  }
}

}  // namespace
}  // namespace fmha_bwd
