// fmha_bwd bench --baseline and --ab, through the whole program.
#include <gmock/gmock.h>

#include "tests/src/commands/bench_run.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class BenchGate : public BenchRun {
 protected:
  std::string base(const std::vector<std::string>& words = {"--rounds", "9"},
                   const Decorate& decorate = paced()) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--output", path("base.json")});
    EXPECT_EQ(bench(all, decorate).exit_code, 0);
    return path("base.json");
  }

  static Outcome against(const std::string& baseline, double factor,
                         const std::vector<std::string>& more = {}, const std::string& rounds = "9") {
    std::vector<std::string> all = {"--rounds", rounds, "--baseline", baseline};
    all.insert(all.end(), more.begin(), more.end());
    return bench(all, paced(factor));
  }
};

TEST_F(BenchGate, TheSameTimesPass) {
  const Outcome outcome = against(base(), 1.0);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 same of 1 case"));
}

TEST_F(BenchGate, ASlowerCaseEndsWithFour) {
  const Outcome outcome = against(base(), 1.03, {"--junit", path("j.xml"), "--markdown", path("m.md")});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, HasSubstr("1 slower of 1 case"));
  EXPECT_THAT(contents(path("j.xml")), HasSubstr("<failure"));
  EXPECT_THAT(contents(path("m.md")), HasSubstr("slower"));
}

TEST_F(BenchGate, AFasterCaseAndAnAllowedSlowdownPass) {
  EXPECT_EQ(against(base(), 0.5).exit_code, 0);
  EXPECT_EQ(against(path("base.json"), 1.03, {"--max-slowdown", "5%"}).exit_code, 0);
}

TEST_F(BenchGate, TooFewRoundsAreUnclear) {
  const Outcome outcome = against(base({"--rounds", "3"}), 1.0, {}, "3");
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.out, HasSubstr("new has 3 rounds; at least 9 are needed"));
}

TEST_F(BenchGate, WhatIsUnclearIsMeasuredAgainOnce) {
  // The times of the sessions are 1 and 1.1 in turn, and a session lives as long as the run: noise comes from
  // the rounds of the baseline.
  const std::string baseline = base();
  BenchResults noisy = results("base.json");
  for (std::size_t i = 0; i < 9; i += 2) {
    for (double& time : noisy.cases.front().rounds[i].batch_ms) time *= 1.2;
  }
  put(baseline, results_text(noisy));
  const Outcome outcome = against(baseline, 1.1, {"--output", path("new.json")});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("1 of the cases unclear: measured again\n"));
  EXPECT_THAT(results("new.json").cases.front().rounds, SizeIs(18));
}

TEST_F(BenchGate, OnlyWhatIsUnclearIsMeasuredAgain) {
  const std::string baseline = base({"--seqlen", "16,32", "--rounds", "9"});
  BenchResults noisy = results("base.json");
  for (std::size_t i = 0; i < 9; i += 2) {
    for (double& time : noisy.cases[1].rounds[i].batch_ms) time *= 1.2;
  }
  put(baseline, results_text(noisy));
  EXPECT_EQ(against(baseline, 1.1, {"--seqlen", "16,32", "--output", path("new.json")}).exit_code, 4);
  EXPECT_THAT(results("new.json").cases[0].rounds, SizeIs(9));
  EXPECT_THAT(results("new.json").cases[1].rounds, SizeIs(18));
}

TEST_F(BenchGate, WrongNumbersComeBeforeASlowerCase) {
  const std::string baseline = base();
  const Outcome outcome = bench({"--rounds", "9", "--baseline", baseline}, with_fault(Fault::zeroed_dq));
  EXPECT_EQ(outcome.exit_code, 1);
}

TEST_F(BenchGate, RefusesABaselineOfAnotherKindBeforeItMeasures) {
  const std::string baseline = base({"--rounds", "9", "--cache", "warm"});
  const Outcome outcome = against(baseline, 1.0, {"--output", path("new.json")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cache state: 'warm' and 'rotate'; --allow-unlike compares them"));
  EXPECT_FALSE(std::filesystem::exists(path("new.json")));
  EXPECT_EQ(against(baseline, 1.0, {"--allow-unlike"}).exit_code, 0);
}

TEST_F(BenchGate, RefusesABaselineThatIsNone) {
  const Outcome outcome = against(path("nothing.json"), 1.0);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--baseline: '" + path("nothing.json") + "'"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(BenchGate, AMissingCaseIsUnclearUnlessAllowed) {
  const std::string baseline = base({"--seqlen", "16,32", "--rounds", "9"});
  EXPECT_EQ(against(baseline, 1.0).exit_code, 5);
  EXPECT_EQ(against(baseline, 1.0, {"--allow-missing"}).exit_code, 0);
}

TEST_F(BenchGate, AnotherProgramThatIsNoneEndsWithSix) {
  const Outcome none = bench({"--ab", path("nothing")});
  EXPECT_EQ(none.exit_code, 6);
  EXPECT_EQ(none.err, "fmha_bwd: '" + path("nothing") + "' cannot be run: No such file or directory\n");
  const Outcome other = bench({"--ab", "/bin/true"});
  EXPECT_EQ(other.exit_code, 6);
  EXPECT_EQ(other.err, "fmha_bwd: '/bin/true' ended with code 0 and left no results of bench\n");
}

}  // namespace
}  // namespace fmha_bwd
