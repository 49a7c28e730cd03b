#include "bench/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fmha_bwd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Says that a pass takes `pass_ms`, and takes none.
class FakeSubject final : public Subject {
 public:
  explicit FakeSubject(double pass_ms) : pass_ms_(pass_ms) {}

  double passes(std::int64_t passes) override {
    asked.push_back(passes);
    if (asked.size() == fails_at) throw std::runtime_error("broken");
    return static_cast<double>(passes) * pass_ms_;
  }
  std::optional<double> graph(std::int64_t passes) override {
    asked_graphs.push_back(passes);
    if (!has_graphs) return std::nullopt;
    return static_cast<double>(passes) * pass_ms_ * 0.5;
  }
  bool has_batches() const override { return batches; }
  std::optional<double> clock_mhz() override {
    if (clocks.empty()) return std::nullopt;
    return clocks.at(asked_clocks++ % clocks.size());
  }

  bool batches = true;
  bool has_graphs = true;
  std::size_t fails_at = 0;
  std::vector<std::int64_t> asked;
  std::vector<std::int64_t> asked_graphs;
  std::vector<std::optional<double>> clocks;  // given in turn
  std::size_t asked_clocks = 0;

 private:
  double pass_ms_;
};

SamplerSettings fixed(std::size_t count) {
  SamplerSettings settings;
  settings.warmup_seconds = 0.0;
  settings.stopping.fixed_count = count;
  return settings;
}

TEST(Sampler, TakesSinglePassesAndBatchesInTurnAfterOneToWarmUp) {
  FakeSubject subject(2.0);
  const Round round = sample_round(subject, fixed(3));
  EXPECT_THAT(subject.asked, ElementsAre(1, 1, 5, 1, 5, 1, 5));
  EXPECT_EQ(round.batch_passes, 5);
  EXPECT_EQ(round.stopped, "fixed count");
  EXPECT_THAT(round.single_ms, ElementsAre(2.0, 2.0, 2.0));
}

TEST(Sampler, TellsMillisecondsOfOnePass) {
  FakeSubject subject(2.0);
  EXPECT_THAT(sample_round(subject, fixed(3)).batch_ms, ElementsAre(2.0, 2.0, 2.0));
}

TEST(Sampler, ABatchHasTwoPassesAtLeastAndAThousandAtMost) {
  for (const auto& [pass_ms, passes] : {std::pair(100.0, 2), std::pair(5.0, 2), std::pair(0.1, 100),
                                        std::pair(0.01, 1000), std::pair(1e-5, 1000), std::pair(0.0, 1000)}) {
    FakeSubject subject(pass_ms);
    EXPECT_EQ(sample_round(subject, fixed(1)).batch_passes, passes) << pass_ms;
  }
}

TEST(Sampler, TakesNoBatchesAndNoGraphsWhereBatchesMeanNothing) {
  FakeSubject subject(0.1);
  subject.batches = false;
  const Round round = sample_round(subject, fixed(4));
  EXPECT_THAT(subject.asked, ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(subject.asked_graphs, IsEmpty());
  EXPECT_EQ(round.batch_passes, 0);
  EXPECT_THAT(round.single_ms, SizeIs(4));
  EXPECT_THAT(round.batch_ms, IsEmpty());
  EXPECT_THAT(round.graph_ms, IsEmpty());
  EXPECT_EQ(time_of(round), 0.1);
}

TEST(Sampler, ReplaysGraphsOfAsManyPassesAsABatchWherePassesAreShort) {
  FakeSubject subject(0.0625);
  const Round round = sample_round(subject, fixed(2));
  EXPECT_EQ(round.batch_passes, 160);
  EXPECT_THAT(subject.asked_graphs, ElementsAre(160, 160, 160));  // the first is not timed
  EXPECT_THAT(round.graph_ms, ElementsAre(0.03125, 0.03125));
}

TEST(Sampler, AGraphHas512PassesAtMost) {
  FakeSubject subject(0.015625);
  EXPECT_EQ(sample_round(subject, fixed(1)).batch_passes, 640);
  EXPECT_THAT(subject.asked_graphs, ElementsAre(512, 512));
}

TEST(Sampler, ReplaysNoGraphsFromAQuarterOfAMillisecondOn) {
  FakeSubject shorter(0.24);
  EXPECT_THAT(sample_round(shorter, fixed(2)).graph_ms, SizeIs(2));
  FakeSubject longer(0.25);
  EXPECT_THAT(sample_round(longer, fixed(2)).graph_ms, IsEmpty());
  EXPECT_THAT(longer.asked_graphs, IsEmpty());
}

TEST(Sampler, AsksOnceForGraphsWhereThereAreNone) {
  FakeSubject subject(0.1);
  subject.has_graphs = false;
  const Round round = sample_round(subject, fixed(5));
  EXPECT_THAT(subject.asked_graphs, SizeIs(1));
  EXPECT_THAT(round.graph_ms, IsEmpty());
  EXPECT_THAT(round.batch_ms, SizeIs(5));
}

TEST(Sampler, StopsWhereTheBatchesAreSteadyAndThePassesTookLongEnough) {
  FakeSubject subject(125.0);
  SamplerSettings settings = fixed(0);
  settings.stopping = {};
  settings.stopping.min_seconds = 6.0;  // 0.375 s a visit: a single pass and a batch of two
  settings.stopping.max_seconds = 1e9;
  const Round round = sample_round(subject, settings);
  EXPECT_EQ(round.stopped, "steady");
  EXPECT_THAT(round.batch_ms, SizeIs(16));
  EXPECT_THAT(round.single_ms, SizeIs(16));
}

TEST(Sampler, StopsAfterTwoSamplesWhereThereIsNoTime) {
  FakeSubject subject(1.0);
  SamplerSettings settings = fixed(0);
  settings.stopping = {};
  settings.stopping.max_seconds = 0.0;
  const Round round = sample_round(subject, settings);
  EXPECT_EQ(round.stopped, "time is out");
  EXPECT_THAT(round.batch_ms, SizeIs(2));
}

TEST(Sampler, WithoutAWatchDiscardsNothing) {
  FakeSubject subject(1.0);
  const Round round = sample_round(subject, fixed(3));
  EXPECT_EQ(round.slow_clock, 0);
  EXPECT_FALSE(round.throttled);
  EXPECT_EQ(round.telemetry, Telemetry{});
  EXPECT_THAT(round.batch_ms, Each(1.0));
}

TEST(Sampler, TellsTheClockOfBatchesByTheSubjectsOwnCounters) {
  FakeSubject subject(1.0);
  // Before the first sample, and after each: single passes and batches in turn.
  subject.clocks = {std::nullopt, 1980.0, 1700.0, 1980.0, 1690.0, 1980.0, 1710.0};
  const Round round = sample_round(subject, fixed(3));
  EXPECT_EQ(subject.asked_clocks, 7U);
  EXPECT_EQ(round.telemetry.clock_mhz, 1700.0);
  EXPECT_FALSE(round.throttled);
}

/// Says 1980 MHz, and why.
class NominalDevice final : public DeviceWatch {
 public:
  explicit NominalDevice(std::vector<std::string> throttle) : throttle_(std::move(throttle)) {}
  const DeviceFacts& facts() const override { return facts_; }
  DeviceReading read() override { return {1980.0, 500.0, 60.0, throttle_}; }

 private:
  DeviceFacts facts_;
  std::vector<std::string> throttle_;
};

Round watched_round(FakeSubject& subject, std::vector<std::string> throttle) {
  NominalDevice device(std::move(throttle));
  ClockWatch watch(device);
  watch.start();
  const auto now = std::chrono::steady_clock::now();
  while (!watch.clock_during(now, now))
    std::this_thread::yield();  // the fake takes no time, the first reading does
  return sample_round(subject, fixed(3), &watch);
}

TEST(Sampler, DoesNotMixTheSubjectsClockWithThatOfTheLibrary) {
  FakeSubject subject(1.0);
  subject.clocks = {std::nullopt, std::nullopt, 1700.0};  // before, and of single passes and batches in turn
  subject.clocks.insert(subject.clocks.end(), {std::nullopt, 1700.0, std::nullopt, 1700.0});
  const Round round = watched_round(subject, {"power cap"});
  EXPECT_EQ(round.telemetry.clock_mhz, 1700.0);
  EXPECT_EQ(round.telemetry.clock_source, "counters");
  EXPECT_FALSE(round.throttled);
}

TEST(Sampler, AsksTheLibraryWhereTheSubjectDoesNotKnowItsClock) {
  FakeSubject subject(1.0);
  const Round round = watched_round(subject, {});
  EXPECT_EQ(round.telemetry.clock_mhz, 1980.0);
  EXPECT_EQ(round.telemetry.clock_source, "library");
  EXPECT_FALSE(round.throttled);
}

TEST(Sampler, DoubtsARoundInWhichHeatHeldTheClockDown) {
  FakeSubject subject(1.0);
  EXPECT_TRUE(watched_round(subject, {"power cap", "thermal"}).throttled);
}

TEST(Sampler, DiscardsABatchUnderASlowClock) {
  FakeSubject subject(1.0);
  subject.clocks.assign(21, 1700.0);
  subject.clocks[4] = 1600.0;  // behind the second batch
  const Round round = sample_round(subject, fixed(10));
  EXPECT_EQ(round.slow_clock, 1);
  EXPECT_THAT(round.batch_ms, SizeIs(9));
  EXPECT_THAT(round.single_ms, SizeIs(10));
  EXPECT_FALSE(round.throttled);
}

TEST(Sampler, LetsTheSubjectsErrorThrough) {
  FakeSubject subject(1.0);
  subject.fails_at = 3;
  EXPECT_THROW(sample_round(subject, fixed(3)), std::runtime_error);
}

}  // namespace
}  // namespace fmha_bwd
