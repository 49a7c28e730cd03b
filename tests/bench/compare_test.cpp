#include "bench/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/bench/made_up_results.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Nine rounds, no two alike, whose median is `center` and which lie within 0.4% of it.
std::vector<double> nine(double center) {
  std::vector<double> times;
  for (int i = -4; i <= 4; ++i) times.push_back(center * (1.0 + 0.001 * i));
  return times;
}

Comparison compare_cases(const std::vector<BenchCase>& base, const std::vector<BenchCase>& latest,
                         const CompareSettings& settings = {}) {
  return compare(results_of_cases(base), results_of_cases(latest), settings);
}

Comparison compare_times(const std::vector<double>& base, const std::vector<double>& latest,
                         const CompareSettings& settings = {}) {
  return compare_cases({case_of("a", base)}, {case_of("a", latest)}, settings);
}

TEST(Compare, FindsASlowerCase) {
  const Comparison comparison = compare_times(nine(1.0), nine(1.03));
  const CaseComparison& item = comparison.cases.at(0);
  EXPECT_EQ(item.verdict, CaseVerdict::slower);
  EXPECT_EQ(item.base_ms, 1.0);
  EXPECT_EQ(item.latest_ms, 1.03);
  EXPECT_DOUBLE_EQ(item.effect->time.value, 1.03);
  EXPECT_DOUBLE_EQ(item.effect->evidence.p_slower, 1.0 / 48620.0);
  EXPECT_DOUBLE_EQ(item.effect->evidence.p_faster, 1.0);
  EXPECT_GT(item.effect->time.interval.low, 1.01);
  EXPECT_LT(item.effect->time.interval.high, 1.05);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::regression);
}

TEST(Compare, FindsAFasterCaseAndPasses) {
  const Comparison comparison = compare_times(nine(1.03), nine(1.0));
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::faster);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::passed);
}

TEST(Compare, CallsEqualTimesTheSame) {
  const Comparison comparison = compare_times(nine(1.0), nine(1.0));
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::same);
  EXPECT_THAT(comparison.cases.at(0).reason, IsEmpty());
  EXPECT_EQ(exit_code_of(comparison), ExitCode::passed);
}

TEST(Compare, LetsAnAllowedSlowdownPass) {
  const Comparison comparison = compare_times(nine(1.0), nine(1.02), {.max_slowdown = 0.03});
  EXPECT_GT(comparison.cases.at(0).effect->evidence.p_slower, 0.05);
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::same);
}

TEST(Compare, IsUnclearWhereTheIntervalHoldsTheLimit) {
  const Comparison comparison = compare_times(nine(1.0), nine(1.01));
  const CaseComparison& item = comparison.cases.at(0);
  EXPECT_LT(item.effect->time.interval.low, 1.01);
  EXPECT_GT(item.effect->time.interval.high, 1.01);
  EXPECT_EQ(item.verdict, CaseVerdict::unclear);
  EXPECT_EQ(item.reason, "a slowdown beyond 1% is neither shown nor excluded");
  EXPECT_EQ(exit_code_of(comparison), ExitCode::unclear);
}

TEST(Compare, NeedsTheTestBesidesTheInterval) {
  const Comparison comparison = compare_times(nine(1.0), nine(1.03), {.alpha = 1.0 / 48620.0});
  EXPECT_GT(comparison.cases.at(0).effect->time.interval.low, 1.01);
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::unclear);
}

/// A case whose rounds all ran at that clock.
BenchCase at_clock(const std::vector<double>& times, double mhz) {
  BenchCase item = case_of("a", times);
  for (Round& round : item.rounds) round.telemetry.clock_mhz = mhz;
  return item;
}

TEST(Compare, IsUnclearWhereOnlyTheClockMadeACaseSlower) {
  const Comparison comparison = compare_cases({at_clock(nine(1.0), 1700.0)}, {at_clock(nine(1.02), 1666.0)});
  const CaseComparison& item = comparison.cases.at(0);
  EXPECT_GT(item.effect->time.interval.low, 1.01);
  EXPECT_NEAR(item.effect->cycles->value, 1.02 * 1666.0 / 1700.0, 1e-12);
  EXPECT_EQ(item.verdict, CaseVerdict::unclear);
  EXPECT_EQ(item.reason, "the clock was lower: a pass takes as many cycles as before");
}

TEST(Compare, FindsACaseThatNeedsMoreCyclesSlower) {
  for (const double mhz : {1700.0, 1690.0, 1720.0}) {
    EXPECT_EQ(compare_cases({at_clock(nine(1.0), 1700.0)}, {at_clock(nine(1.03), mhz)}).cases.at(0).verdict,
              CaseVerdict::slower)
        << mhz;
  }
}

TEST(Compare, CallsACaseOfTheSameCyclesTheSameWhereItsTimesSayNothing) {
  BenchCase latest = case_of("a", {});
  std::vector<double> times;
  for (int i = -4; i <= 4; ++i) {  // a clock that wanders by 4 %, and times that go with it
    times.push_back(1.0 / (1.0 + 0.01 * i));
    latest.rounds.push_back(round_of(times.back()));
    latest.rounds.back().telemetry.clock_mhz = 1700.0 * (1.0 + 0.01 * i);
  }
  EXPECT_EQ(compare_times(nine(1.0), times).cases.at(0).verdict, CaseVerdict::unclear);
  const CaseComparison item = compare_cases({at_clock(nine(1.0), 1700.0)}, {latest}).cases.at(0);
  EXPECT_EQ(item.verdict, CaseVerdict::same);
  EXPECT_EQ(item.reason, "by its cycles: the clock changed");
}

TEST(Compare, IsUnclearWhereTheRatioIsBeyondTheLimitThoughCyclesAreTheSame) {
  BenchCase latest = case_of("a", {});
  for (int i = -4; i <= 4;
       ++i) {  // 2 % slower by the median, with times that go with a clock that wanders by 4 %
    latest.rounds.push_back(round_of(1.02 / (1.0 + 0.01 * i)));
    latest.rounds.back().telemetry.clock_mhz = 1700.0 / 1.02 * (1.0 + 0.01 * i);
  }
  const CaseComparison item = compare_cases({at_clock(nine(1.0), 1700.0)}, {latest}).cases.at(0);
  EXPECT_LE(item.effect->cycles->interval.high, 1.01);
  EXPECT_LE(item.effect->time.interval.low, 1.01);
  EXPECT_EQ(item.verdict, CaseVerdict::unclear);
}

TEST(Compare, StaysUnclearWhereCyclesSayNothingEither) {
  EXPECT_EQ(compare_cases({at_clock(nine(1.0), 1700.0)}, {at_clock(nine(1.01), 1700.0)}).cases.at(0).verdict,
            CaseVerdict::unclear);
}

TEST(Compare, KnowsNoCyclesWhereARoundDoesNotKnowItsClock) {
  BenchCase latest = at_clock(nine(1.02), 1666.0);
  latest.rounds[4].telemetry.clock_mhz.reset();
  const CaseComparison item = compare_cases({at_clock(nine(1.0), 1700.0)}, {latest}).cases.at(0);
  EXPECT_FALSE(item.effect->cycles);
  EXPECT_EQ(item.verdict, CaseVerdict::slower);
}

/// Runs whose rounds drift by a tenth each, the new one 3 % slower.
std::pair<BenchResults, BenchResults> drifting_runs(const std::string& in_turn, const std::string& other) {
  std::vector<double> base;
  std::vector<double> latest;
  for (int i = 0; i < 9; ++i) {
    base.push_back(1.0 + 0.1 * i);
    latest.push_back(base.back() * (1.03 + 0.001 * (i % 3)));
  }
  std::pair runs = {results_of_cases({case_of("a", base)}), results_of_cases({case_of("a", latest)})};
  runs.first.context.in_turn = in_turn;
  runs.second.context.in_turn = other;
  return runs;
}

TEST(Compare, PairsRoundsThatWereTakenInTurn) {
  const auto [base, latest] = drifting_runs("x", "x");
  const Comparison comparison = compare(base, latest);
  EXPECT_TRUE(comparison.in_turn);
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::slower);
  EXPECT_NEAR(comparison.cases.at(0).effect->time.value, 1.031, 1e-12);
}

TEST(Compare, DoesNotPairRoundsOfRunsThatHaveNothingToDoWithEachOther) {
  for (const auto& [one, other] : {std::pair("", ""), std::pair("x", "y"), std::pair("x", "")}) {
    const auto [base, latest] = drifting_runs(one, other);
    const Comparison comparison = compare(base, latest);
    EXPECT_FALSE(comparison.in_turn);
    EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::unclear);
  }
}

TEST(Compare, DoesNotPairWhereOneSideHasARoundMore) {
  auto [base, latest] = drifting_runs("x", "x");
  latest.cases[0].rounds.push_back(round_of(1.9));
  EXPECT_FALSE(compare(base, latest).in_turn);
  EXPECT_EQ(compare(base, latest).cases.at(0).verdict, CaseVerdict::unclear);
}

TEST(Compare, SaysHowManyPairsSoManyCasesNeed) {
  std::vector<BenchCase> cases;
  for (int i = 0; i < 26; ++i)
    cases.push_back(case_of(std::string(1, static_cast<char>('a' + i)), nine(1.0)));
  BenchResults base = results_of_cases(cases);
  base.context.in_turn = "x";
  EXPECT_EQ(compare(base, base).cases.at(0).reason,
            "over 26 cases so few rounds cannot give p < 0.05; 10 a side are needed");
}

TEST(Compare, IsUnclearWhereAReplayIsNoTime) {
  BenchCase latest = case_of("a", nine(1.0));
  for (Round& round : latest.rounds) round.graph_ms = {0.9};
  latest.rounds[3].graph_ms = {-1.0};
  EXPECT_EQ(compare_cases({latest}, {latest}).cases.at(0).reason,
            "new has a round whose time is not a positive number");
}

TEST(Compare, TakesTheRoundAsItsUnitHoweverManySamplesItHas) {
  BenchCase base = case_of("a", nine(1.0));
  BenchCase latest = case_of("a", nine(1.0));
  for (Round& round : latest.rounds) round.batch_ms = {round.batch_ms[0], 0.5, 100.0};
  EXPECT_EQ(compare_cases({base}, {latest}).cases.at(0).verdict, CaseVerdict::same);
  base.rounds.resize(8);
  base.rounds[0].batch_ms.resize(100, 1.0);
  EXPECT_EQ(compare_cases({base}, {latest}).cases.at(0).reason, "base has 8 rounds; at least 9 are needed");
}

TEST(Compare, IsUnclearWithFewRoundsOnEitherSide) {
  std::vector<double> eight = nine(1.5);
  eight.pop_back();
  const Comparison comparison = compare_times(nine(1.0), eight);
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::unclear);
  EXPECT_EQ(comparison.cases.at(0).reason, "new has 8 rounds; at least 9 are needed");
  EXPECT_FALSE(comparison.cases.at(0).effect);
  EXPECT_EQ(compare_times(eight, nine(1.0)).cases.at(0).verdict, CaseVerdict::unclear);
  EXPECT_EQ(compare_times(eight, nine(1.0), {.min_rounds = 8}).cases.at(0).verdict, CaseVerdict::faster);
}

TEST(Compare, IsUnclearWhereATimeIsNone) {
  for (const double time : {kNaN, std::numeric_limits<double>::infinity(), 0.0, -1.0}) {
    std::vector<double> times = nine(1.0);
    times[3] = time;
    const Comparison comparison = compare_times(nine(1.0), times);
    EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::unclear) << time;
    EXPECT_EQ(comparison.cases.at(0).reason, "new has a round whose time is not a positive number");
    EXPECT_FALSE(comparison.cases.at(0).latest_ms);
    EXPECT_EQ(compare_times(times, nine(1.0)).cases.at(0).verdict, CaseVerdict::unclear) << time;
  }
  BenchCase empty_round = case_of("a", nine(1.0));
  empty_round.rounds[0] = {};
  EXPECT_EQ(compare_cases({empty_round}, {empty_round}).cases.at(0).verdict, CaseVerdict::unclear);
}

TEST(Compare, ToleratesThrottlingInAQuarterOfTheRounds) {
  BenchCase throttled = case_of("a", nine(1.0));
  throttled.rounds[0].throttled = throttled.rounds[1].throttled = true;
  EXPECT_EQ(compare_cases({case_of("a", nine(1.0))}, {throttled}).cases.at(0).verdict, CaseVerdict::same);
  throttled.rounds[2].throttled = true;
  const Comparison comparison = compare_cases({case_of("a", nine(1.0))}, {throttled});
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::unclear);
  EXPECT_EQ(comparison.cases.at(0).reason, "3 of 9 rounds of new were throttled; at most 25% may be");
  EXPECT_EQ(compare_cases({throttled}, {case_of("a", nine(1.0))}).cases.at(0).verdict, CaseVerdict::unclear);
}

TEST(Compare, NeverPassesAnErrorOfTheNewRun) {
  const Comparison comparison =
      compare_cases({case_of("a", nine(1.0))}, {failed_case("a", "out of memory", 6)});
  EXPECT_EQ(comparison.cases.at(0).verdict, CaseVerdict::unclear);
  EXPECT_EQ(comparison.cases.at(0).reason, "new failed: out of memory");
  EXPECT_EQ(exit_code_of(comparison), ExitCode::unclear);
  const Comparison without_base = compare_cases(
      {case_of("b", nine(1.0))}, {failed_case("a", "out of memory", 6), case_of("b", nine(1.0))});
  EXPECT_EQ(without_base.cases.at(0).verdict, CaseVerdict::unclear);
  EXPECT_EQ(exit_code_of(without_base), ExitCode::unclear);
  const Comparison both = compare_cases({failed_case("a", "x", 6)}, {failed_case("a", "y", 6)});
  EXPECT_EQ(both.cases.at(0).reason, "new failed: y");
  const Comparison nameless = compare_cases({case_of("a", nine(1.0))}, {failed_case("a", "", 6)});
  EXPECT_EQ(nameless.cases.at(0).reason, "new failed: exit code 6");
}

TEST(Compare, OfWrongNumbersEndsWithTheirCodeBeforeAnyOther) {
  const std::vector<BenchCase> base = {case_of("a", nine(1.0)), case_of("b", nine(1.0))};
  const Comparison comparison =
      compare_cases(base, {failed_case("a", "dQ is wrong", 1), case_of("b", nine(2.0))});
  EXPECT_TRUE(comparison.cases.at(0).wrong_numbers);
  EXPECT_EQ(comparison.cases.at(1).verdict, CaseVerdict::slower);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::wrong_numbers);
  EXPECT_EQ(exit_code_of(compare_cases(base, {failed_case("new", "dQ is wrong", 1)})),
            ExitCode::wrong_numbers);
}

TEST(Compare, IsUnclearWhereTheBaselineFailed) {
  const Comparison comparison =
      compare_cases({failed_case("a", "dQ is wrong", 1)}, {case_of("a", nine(1.0))});
  EXPECT_EQ(comparison.cases.at(0).reason, "base failed: dQ is wrong");
  EXPECT_FALSE(comparison.cases.at(0).wrong_numbers);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::unclear);
}

TEST(Compare, ListsANewCaseAndPasses) {
  const Comparison comparison =
      compare_cases({case_of("a", nine(1.0))}, {case_of("a", nine(1.0)), case_of("b", nine(1.0))});
  EXPECT_EQ(comparison.cases.at(1).verdict, CaseVerdict::not_in_base);
  EXPECT_EQ(comparison.cases.at(1).reason, "the baseline does not have it");
  EXPECT_EQ(count_of(comparison, CaseVerdict::not_in_base), 1);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::passed);
}

TEST(Compare, DoesNotPassAMissingCaseUnlessAllowed) {
  const std::vector<BenchCase> base = {case_of("a", nine(1.0)), case_of("b", nine(1.0))};
  const Comparison comparison = compare_cases(base, {case_of("a", nine(1.0))});
  EXPECT_EQ(comparison.cases.at(1).verdict, CaseVerdict::missing);
  EXPECT_EQ(comparison.cases.at(1).name, "b");
  EXPECT_EQ(comparison.cases.at(1).base_ms, 1.0);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::unclear);
  EXPECT_EQ(exit_code_of(compare_cases(base, {case_of("a", nine(1.0))}, {.allow_missing = true})),
            ExitCode::passed);
}

TEST(Compare, OfNothingInCommonRanNothing) {
  EXPECT_EQ(exit_code_of(compare_cases({case_of("a", nine(1.0))}, {case_of("b", nine(1.0))})),
            ExitCode::unsupported);
  EXPECT_EQ(exit_code_of(compare_cases({}, {})), ExitCode::unsupported);
}

TEST(Compare, RefusesTwoCasesOfOneName) {
  const std::vector<BenchCase> twice = {case_of("a", nine(1.0)), case_of("a", nine(1.0))};
  EXPECT_EQ(message_of([&] { compare_cases(twice, {}); }), "base: two cases are named 'a'");
  EXPECT_EQ(message_of([&] { compare_cases({}, twice); }), "new: two cases are named 'a'");
}

/// `count` cases, the first of which became so much slower.
Comparison compare_many(int count, double slowdown) {
  std::vector<BenchCase> base;
  std::vector<BenchCase> latest;
  for (int i = 0; i < count; ++i) {
    base.push_back(case_of(std::to_string(i), nine(1.0), i));
    latest.push_back(case_of(std::to_string(i), nine(i == 0 ? slowdown : 1.0), i));
  }
  CompareSettings settings;
  settings.bootstrap.resamples = 200;
  return compare(results_of_cases(base), results_of_cases(latest), settings);
}

TEST(Compare, CorrectsForTheNumberOfCases) {
  EXPECT_DOUBLE_EQ(compare_many(6, 1.03).cases.at(0).effect->evidence.p_slower, 6.0 / 48620.0);
}

// With nine rounds a side p is 1 / 48,620 at least: times 2432 cases that is more than 0.05.
TEST(Compare, SaysSoWhereSoManyCasesCannotBeDecided) {
  const Comparison decided = compare_many(2430, 1.03);
  EXPECT_EQ(decided.cases.at(0).verdict, CaseVerdict::slower);
  EXPECT_EQ(decided.cases.at(1).verdict, CaseVerdict::same);
  const Comparison undecided = compare_many(2432, 1.03);
  EXPECT_EQ(undecided.cases.at(0).verdict, CaseVerdict::unclear);
  EXPECT_EQ(undecided.cases.at(1).verdict, CaseVerdict::unclear);
  EXPECT_EQ(undecided.cases.at(1).reason,
            "over 2432 cases so few rounds cannot give p < 0.05; 10 a side are needed");
  EXPECT_EQ(exit_code_of(undecided), ExitCode::unclear);
}

// --- The proof of the gate, with noise of 0.5% a round. ---

constexpr int kCases = 6;
constexpr std::uint64_t kComparisons = 100;

/// Whether any of six cases is called slower where all became slower by `slowdown`; how often in 100
/// comparisons.
int comparisons_with_slower(double slowdown, std::uint64_t seed) {
  int found = 0;
  for (std::uint64_t i = 0; i < kComparisons; ++i) {
    std::vector<BenchCase> base;
    std::vector<BenchCase> latest;
    for (int k = 0; k < kCases; ++k) {
      const std::uint64_t stream = (i * kCases + static_cast<std::uint64_t>(k)) * 2;
      base.push_back(case_of(std::to_string(k), noisy_times(1.0, 0.005, 9, seed, stream), k));
      latest.push_back(case_of(std::to_string(k), noisy_times(slowdown, 0.005, 9, seed, stream + 1), k));
    }
    const Comparison comparison = compare(results_of_cases(base), results_of_cases(latest));
    found += exit_code_of(comparison) == ExitCode::regression ? 1 : 0;
  }
  return found;
}

TEST(Gate, CallsAtMostOneOfAHundredComparisonsOfABuildWithItselfSlower) {
  EXPECT_LE(comparisons_with_slower(1.0, 1), 1);
}

TEST(Gate, CallsASlowdownAtTheLimitSlowerAsOftenAsAlphaAllows) {
  EXPECT_LE(comparisons_with_slower(1.01, 3), 5);
}

TEST(Gate, FindsASlowdownOfThreePercentInNinetyFiveOfAHundred) {
  EXPECT_GE(comparisons_with_slower(1.03, 2), 95);
}

}  // namespace
}  // namespace fmha_bwd
