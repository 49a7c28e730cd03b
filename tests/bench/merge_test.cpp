#include "bench/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/compare.h"
#include "bench/results_json.h"
#include "tests/bench/made_up_results.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;

/// Five cases, one of which failed.
BenchResults whole_sweep(double slowdown = 1.0) {
  std::vector<BenchCase> cases;
  for (std::int64_t i = 0; i < 5; ++i) {
    const double factor = i == 2 ? slowdown : 1.0;
    cases.push_back(case_of("case " + std::to_string(i),
                            noisy_times(factor, 0.002, 9, 5, static_cast<std::uint64_t>(i)), i));
  }
  cases[3] = failed_case("case 3", "out of memory", 6, 3);
  return results_of_cases(cases);
}

/// Shard `which` of two: every other case.
NamedResults shard(const BenchResults& whole, std::size_t which) {
  NamedResults part{which == 0 ? "a.json" : "b.json", {whole.context, {}}};
  for (std::size_t i = which; i < whole.cases.size(); i += 2) part.results.cases.push_back(whole.cases[i]);
  return part;
}

BenchResults merge_all(const std::vector<NamedResults>& parts) { return merge(parts); }

TEST(Merge, OfTwoShardsEqualsTheWhole) {
  const BenchResults whole = whole_sweep();
  EXPECT_EQ(results_text(merge_all({shard(whole, 0), shard(whole, 1)})), results_text(whole));
  EXPECT_EQ(results_text(merge_all({shard(whole, 1), shard(whole, 0)})), results_text(whole));
}

TEST(Merge, OfShardsInTurnIsInTurnWhateverTheirOrder) {
  const BenchResults whole = whole_sweep();
  NamedResults one = shard(whole, 0);
  NamedResults other = shard(whole, 1);
  one.results.context.in_turn = "y";
  other.results.context.in_turn = "x";
  EXPECT_EQ(merge_all({one, other}).context.in_turn, "x y");
  EXPECT_EQ(merge_all({other, one}).context.in_turn, "x y");
  other.results.context.in_turn = "";
  EXPECT_EQ(merge_all({one, other}).context.in_turn, "");
}

TEST(Merge, OfTwoShardsGivesTheVerdictsOfTheWhole) {
  const BenchResults base = whole_sweep();
  const BenchResults latest = whole_sweep(1.05);
  const BenchResults merged = merge_all({shard(latest, 0), shard(latest, 1)});
  const Comparison of_whole = compare(base, latest);
  const Comparison of_merged = compare(base, merged);
  ASSERT_EQ(of_whole.cases.size(), of_merged.cases.size());
  for (std::size_t i = 0; i < of_whole.cases.size(); ++i) {
    EXPECT_EQ(of_whole.cases[i].verdict, of_merged.cases[i].verdict);
    EXPECT_EQ(of_whole.cases[i].reason, of_merged.cases[i].reason);
  }
  EXPECT_EQ(of_whole.cases.at(2).verdict, CaseVerdict::slower);
  EXPECT_EQ(exit_code_of(of_merged), exit_code_of(of_whole));
  EXPECT_EQ(exit_code_of(merged), exit_code_of(latest));
}

TEST(Merge, KeepsTheFirstContextAndNotesEveryCommandOnce) {
  const BenchResults whole = whole_sweep();
  NamedResults first = shard(whole, 0);
  NamedResults second = shard(whole, 1);
  first.results.context.command = "fmha_bwd bench --shard 1/2";
  second.results.context.command = "fmha_bwd bench --shard 2/2";
  second.results.context.host = "another";
  second.results.context.started = "later";
  const BenchContext context = merge_all({first, second, first}).context;
  EXPECT_EQ(context.command, "fmha_bwd bench --shard 1/2 ; fmha_bwd bench --shard 2/2");
  EXPECT_EQ(context.host, "here");
  EXPECT_EQ(context.started, whole.context.started);
}

TEST(Merge, OfASingleFileIsThatFile) {
  const BenchResults whole = whole_sweep();
  EXPECT_EQ(merge_all({{"a.json", whole}}), whole);
}

TEST(Merge, TakesTheSameCaseTwiceOnlyWhereItIsIdentical) {
  const BenchResults whole = whole_sweep();
  EXPECT_EQ(merge_all({{"a.json", whole}, shard(whole, 1)}), whole);
  NamedResults other = shard(whole, 1);
  other.results.cases[0].rounds[8].batch_ms[0] += 1e-9;
  EXPECT_EQ(message_of([&] {
              merge_all({{"a.json", whole}, other});
            }),
            "'a.json' and 'b.json' both have the case 'case 1', and it differs");
}

TEST(Merge, RefusesOtherMachinesAndOtherPrograms) {
  const BenchResults whole = whole_sweep();
  NamedResults other = shard(whole, 1);
  other.results.context.driver = "1";
  EXPECT_EQ(message_of([&] {
              merge_all({shard(whole, 0), other});
            }),
            "'a.json' and 'b.json' are not parts of one run: driver: '570.1' and '1'");
  other = shard(whole, 1);
  other.results.context.revision = "def";
  EXPECT_THAT(message_of([&] {
                merge_all({shard(whole, 0), other});
              }),
              HasSubstr("revision: 'abc' and 'def'"));
}

TEST(Merge, OfNothingIsRefused) {
  EXPECT_EQ(message_of([] { merge_all({}); }), "nothing to merge");
}

BenchResults that_ended(const std::vector<int>& codes) {
  BenchResults results = results_of_cases({case_of("fine", {1.0})});
  results.context.rounds = 1;
  for (const int code : codes) results.cases.push_back(failed_case("failed", "why", code));
  return results;
}

TEST(Merge, EndsAsItsWorstCase) {
  EXPECT_EQ(exit_code_of(that_ended({})), ExitCode::passed);
  EXPECT_EQ(exit_code_of(that_ended({3, 6, 1})), ExitCode::wrong_numbers);
  EXPECT_EQ(exit_code_of(that_ended({3, 6})), ExitCode::device_error);
  EXPECT_EQ(exit_code_of(that_ended({3, 5})), ExitCode::unclear);
  EXPECT_EQ(exit_code_of(that_ended({3})), ExitCode::passed);
  EXPECT_EQ(exit_code_of(that_ended({5})), ExitCode::unclear);
  EXPECT_EQ(exit_code_of(that_ended({0})), ExitCode::device_error);
  EXPECT_EQ(exit_code_of(that_ended({77})), ExitCode::device_error);
}

TEST(Merge, IsUnclearWhereACaseLacksRounds) {
  BenchResults results = that_ended({});
  results.context.rounds = 2;
  EXPECT_EQ(exit_code_of(results), ExitCode::unclear);
  results.cases.push_back(failed_case("failed", "why", 1));
  EXPECT_EQ(exit_code_of(results), ExitCode::wrong_numbers);
}

TEST(Merge, IsUnsupportedWhereNothingRan) {
  EXPECT_EQ(exit_code_of(results_of_cases({failed_case("a", "why", 3), failed_case("b", "why", 3)})),
            ExitCode::unsupported);
  EXPECT_EQ(exit_code_of(results_of_cases({})), ExitCode::unsupported);
}

}  // namespace
}  // namespace fmha_bwd
