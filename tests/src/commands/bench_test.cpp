// fmha_bwd bench, through the whole program: what it measures, and what becomes of it.
#include <gmock/gmock.h>

#include "tests/src/commands/bench_run.h"

namespace fmha_bwd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kName = "no_mask/fp16/B1/H1/S16/D16";

using BenchCommand = BenchRun;

TEST_F(BenchCommand, ListsTheCasesAndMeasuresNothing) {
  const Outcome outcome = bench({"--seqlen", "16,32", "--list", "--output", path("r.json")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "no_mask/fp16/B1/H1/S16/D16\nno_mask/fp16/B1/H1/S32/D16\n");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path("r.json")));
}

TEST_F(BenchCommand, ListsWhatTheFilterAndTheShardLeave) {
  EXPECT_EQ(bench({"--seqlen", "16:64:+16", "--list", "--benchmark_filter=-S16"}).out,
            "no_mask/fp16/B1/H1/S32/D16\nno_mask/fp16/B1/H1/S48/D16\nno_mask/fp16/B1/H1/S64/D16\n");
  EXPECT_EQ(bench({"--seqlen", "16:64:+16", "--list", "--benchmark_filter=-S16", "--shard", "2/2"}).out,
            "no_mask/fp16/B1/H1/S48/D16\n");
}

TEST_F(BenchCommand, EndsWithThreeWhereTheFilterFindsNothing) {
  const Outcome outcome = bench({"--benchmark_filter=nothing"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "fmha_bwd: nothing to run: no case matches 'nothing'\n");
}

TEST_F(BenchCommand, ShowsATableAndWritesEverySample) {
  const Outcome outcome = bench({"--output", path("r.json")}, paced());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr(kName));
  const BenchResults written = results("r.json");
  ASSERT_THAT(written.cases, SizeIs(1));
  const BenchCase& item = written.cases.front();
  EXPECT_EQ(item.name, kName);
  EXPECT_EQ(item.kernel, "cdna");
  EXPECT_EQ(item.verification, "full");
  EXPECT_THAT(item.input_checksum, SizeIs(16));
  EXPECT_EQ(item.error, "");
  ASSERT_THAT(item.rounds, SizeIs(2));
  for (const Round& round : item.rounds) {
    EXPECT_THAT(round.single_ms, ElementsAre(16.0, 16.0));
    EXPECT_THAT(round.batch_ms, ElementsAre(16.0, 16.0));
    EXPECT_EQ(round.batch_passes, 2);
    EXPECT_EQ(round.stopped, "fixed count");
  }
}

TEST_F(BenchCommand, WritesWhereAndHowItMeasured) {
  ASSERT_EQ(bench({"--output", path("r.json"), "--cache", "warm"}, paced()).exit_code, 0);
  const BenchContext context = results("r.json").context;
  EXPECT_EQ(context.platform, "emulator");
  EXPECT_TRUE(context.emulated);
  EXPECT_EQ(context.cache, "warm");
  EXPECT_EQ(context.rounds, 2);
  EXPECT_EQ(context.samples, 2);
  EXPECT_EQ(context.warmup_seconds, 0.0);
  EXPECT_TRUE(context.interleaved);
  EXPECT_THAT(context.command, StartsWith("fmha_bwd bench --device emulator --batch 1"));
  EXPECT_THAT(context.command, EndsWith("--cache warm"));
  EXPECT_THAT(context.started, ::testing::MatchesRegex("....-..-..T..:..:..Z"));
}

TEST_F(BenchCommand, FlushedPassesHaveNoBatches) {
  ASSERT_EQ(bench({"--output", path("r.json"), "--cache", "flush"}, paced()).exit_code, 0);
  const BenchResults written = results("r.json");
  EXPECT_THAT(written.cases.front().rounds.front().batch_ms, IsEmpty());
  EXPECT_EQ(time_of(written.cases.front()), 16.0);
}

TEST_F(BenchCommand, TheReferenceIsMeasuredOnTheCpu) {
  const Outcome outcome =
      bench({"--device", "cpu", "--kernel", "exact,textbook", "--output", path("r.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const BenchResults written = results("r.json");
  EXPECT_EQ(written.context.platform, "cpu");
  ASSERT_THAT(written.cases, SizeIs(2));
  EXPECT_EQ(written.cases[0].name, "reference/no_mask/fp64/B1/H1/S16/D16");
  EXPECT_EQ(written.cases[1].kernel, "textbook");
  EXPECT_THAT(written.cases[1].rounds, SizeIs(2));
}

TEST_F(BenchCommand, TheOutputMayBeStdout) {
  const Outcome outcome = bench({"--output", "-"}, paced());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(results_from(outcome.out, "stdout").cases, SizeIs(1));
}

TEST_F(BenchCommand, QuietShowsNothing) {
  const Outcome outcome = bench({"--quiet", "--output", path("r.json")}, paced());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(BenchCommand, WrongNumbersAreRecordedAndNotTimed) {
  const Outcome outcome = bench({"--output", path("r.json")}, with_fault(Fault::zeroed_dk));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("wrong numbers: dK has "));
  const BenchCase item = results("r.json").cases.front();
  EXPECT_THAT(item.error, StartsWith("wrong numbers: dK has 255 wrong of 256 elements"));
  EXPECT_EQ(item.exit_code, 1);
  EXPECT_THAT(item.rounds, IsEmpty());
}

TEST_F(BenchCommand, WrongNumbersPassWhereNothingIsVerified) {
  EXPECT_EQ(bench({"--verify", "none"}, with_fault(Fault::zeroed_dk)).exit_code, 0);
}

TEST_F(BenchCommand, AProblemThatNoKernelTakesEndsWithThree) {
  const Outcome outcome = bench({"--kernel", "plain", "--output", path("r.json")});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_EQ(results("r.json").cases.front().exit_code, 3);
  EXPECT_THAT(results("r.json").cases.front().error, Not(IsEmpty()));
}

TEST_F(BenchCommand, AProblemThatNoKernelTakesDoesNotFailTheOthers) {
  const Outcome outcome = bench({"--kernel", "plain,simt", "--output", path("r.json")}, paced());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const BenchResults written = results("r.json");
  EXPECT_EQ(written.cases[0].exit_code, 3);
  EXPECT_THAT(written.cases[0].rounds, IsEmpty());
  EXPECT_THAT(written.cases[1].rounds, SizeIs(2));
}

/// A device on which nothing of 32 queries fits.
Decorate too_small() {
  return with_times([](const Problem& problem) {
    if (problem.seqlen_q == 32) throw Error(ExitCode::device_error, "out of memory");
    return 1.0;
  });
}

TEST_F(BenchCommand, TheOutputHasEveryRoundThatIsDone) {
  std::vector<std::size_t> rounds;
  const Decorate looks = with_times([&](const Problem& /*problem*/) {
    const bool is_there = std::filesystem::exists(path("r.json"));
    rounds.push_back(is_there ? results("r.json").cases.front().rounds.size() : 0);
    return 1.0;
  });
  ASSERT_EQ(bench({"--rounds", "3", "--output", path("r.json")}, looks).exit_code, 0);
  // One pass to warm up, and two single ones and two batches, in each round.
  EXPECT_THAT(rounds, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2));
}

TEST_F(BenchCommand, ACaseThatFailsLeavesTheOthers) {
  const Outcome outcome = bench({"--seqlen", "16,32,48", "--output", path("r.json")}, too_small());
  EXPECT_EQ(outcome.exit_code, 6);
  const BenchResults written = results("r.json");
  EXPECT_THAT(written.cases[0].rounds, SizeIs(2));
  EXPECT_EQ(written.cases[1].error, "out of memory");
  EXPECT_EQ(written.cases[1].exit_code, 6);
  EXPECT_THAT(written.cases[1].rounds, IsEmpty());
  EXPECT_THAT(written.cases[2].rounds, SizeIs(2));
}

TEST_F(BenchCommand, ACaseThatFailsAfterGoodRoundsHasNone) {
  int calls = 0;
  const Decorate breaks = with_times([&](const Problem& problem) {
    if (problem.seqlen_q == 32 && ++calls == 12) throw Error(ExitCode::device_error, "gone");  // in round 3
    return 1.0;
  });
  const Outcome outcome = bench({"--seqlen", "16,32", "--rounds", "4", "--output", path("r.json")}, breaks);
  EXPECT_EQ(outcome.exit_code, 6);
  const BenchResults written = results("r.json");
  EXPECT_THAT(written.cases[0].rounds, SizeIs(4));
  EXPECT_EQ(written.cases[1].error, "gone");
  EXPECT_THAT(written.cases[1].rounds, IsEmpty());
}

TEST_F(BenchCommand, ResumesWhatIsMissingAndTriesTheDeviceAgain) {
  const std::vector<std::string> words = {"--seqlen", "16,32", "--output", path("r.json")};
  ASSERT_EQ(bench(words, too_small()).exit_code, 6);
  std::vector<std::string> again = words;
  again.push_back("--resume");
  EXPECT_EQ(bench(again, paced()).exit_code, 0);
  const BenchResults written = results("r.json");
  ASSERT_THAT(written.cases, SizeIs(2));
  EXPECT_EQ(time_of(written.cases[0]), 1.0);  // of the first run
  EXPECT_THAT(written.cases[0].rounds, SizeIs(2));
  EXPECT_EQ(time_of(written.cases[1]), 32.0);
  EXPECT_EQ(written.cases[1].error, "");
  EXPECT_THAT(written.cases[1].rounds, SizeIs(2));
}

TEST_F(BenchCommand, ResumingWhatIsCompleteMeasuresNothing) {
  ASSERT_EQ(bench({"--output", path("r.json")}, paced()).exit_code, 0);
  const BenchResults before = results("r.json");
  const Outcome outcome = bench({"--output", path("r.json"), "--resume"}, paced(2.0));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(results("r.json").cases, before.cases);
  EXPECT_THAT(outcome.out, HasSubstr("16.000"));
}

TEST_F(BenchCommand, ResumeRefusesAnotherSweep) {
  ASSERT_EQ(bench({"--seqlen", "16,32", "--output", path("r.json")}, paced()).exit_code, 0);
  const std::string before = contents(path("r.json"));
  const Outcome outcome = bench({"--seqlen", "16,48", "--output", path("r.json"), "--resume"}, paced());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("--resume: '" + path("r.json") + "' has the case no_mask/fp16/B1/H1/S32/D16"));
  EXPECT_EQ(contents(path("r.json")), before);
}

TEST_F(BenchCommand, ShardsMergedAreTheWhole) {
  const std::vector<std::string> sweep = {"--seqlen", "16:80:+16", "--output"};
  const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = sweep;
    words.push_back(path(name));
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(bench(words, paced()).exit_code, 0);
  };
  run("whole.json", {});
  run("1.json", {"--shard", "1/2"});
  run("2.json", {"--shard", "2/2"});
  EXPECT_THAT(results("1.json").cases, SizeIs(3));
  EXPECT_THAT(results("2.json").cases, SizeIs(2));
  ASSERT_EQ(run_with({"merge", path("2.json"), path("1.json"), "--output", path("merged.json")}).exit_code,
            0);
  BenchResults merged = results("merged.json");
  const BenchResults whole = results("whole.json");
  EXPECT_EQ(merged.cases, whole.cases);
  merged.context.command = whole.context.command;
  merged.context.started = whole.context.started;
  EXPECT_EQ(merged.context, whole.context);
}

TEST_F(BenchCommand, SaysAtOnceWhereTheOutputCannotBeWritten) {
  for (const std::string option : {"--output", "--benchmark_out"}) {
    const Outcome outcome = bench({option + "=" + path("not/there.json")}, with_times([](const Problem&) {
                                    ADD_FAILURE() << "measured";
                                    return 1.0;
                                  }));
    EXPECT_EQ(outcome.exit_code, 6);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(outcome.err, "fmha_bwd: " + option + ": cannot write '" + path("not/there.json") +
                               "': No such file or directory\n");
  }
}

TEST_F(BenchCommand, AFullDiskEndsTheRunWithSix) {
  const Outcome outcome = bench({"--seqlen", "16,32", "--quiet", "--output", "/dev/full"}, paced());
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_EQ(outcome.err, "fmha_bwd: --output: cannot write '/dev/full': No space left on device\n");
}

TEST_F(BenchCommand, ExplainsItself) {
  const Outcome outcome = run_with({"bench", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Times the backward pass of many problems"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(BenchCommand, RefusesABadSweepInOneLine) {
  const Outcome outcome = bench({"--hdim", "16,513"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "fmha_bwd: --hdim: 513 is not in 1..512\n");
}

TEST_F(BenchCommand, AShardBeyondTheCasesIsNoError) {
  const Outcome outcome = bench({"--seqlen", "16,32", "--shard", "3/4", "--output", path("x.json")}, paced());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("shard 3/4 has none of the 2 cases\n"));
  EXPECT_TRUE(results("x.json").cases.empty());
  EXPECT_EQ(results("x.json").context.platform, "emulator");
}

}  // namespace
}  // namespace fmha_bwd
