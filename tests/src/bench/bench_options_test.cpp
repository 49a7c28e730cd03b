#include "src/bench/bench_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string refusal_of(const Words& words) {
  return message_of([&] { static_cast<void>(bench_options(words)); });
}

TEST(BenchOptions, HaveTheirDefaults) {
  const BenchOptions options = bench_options({});
  ASSERT_THAT(options.lines, SizeIs(1));
  EXPECT_THAT(options.lines.front().words, IsEmpty());
  EXPECT_EQ(options.device, "auto");
  EXPECT_EQ(options.cache, CacheState::rotate);
  EXPECT_EQ(options.rounds, 9);
  EXPECT_EQ(options.samples, std::nullopt);
  EXPECT_TRUE(options.interleaved());
  EXPECT_FALSE(options.several_devices());
}

TEST(BenchOptions, AreReadWithASpaceOrAnEqualsSign) {
  const Words words = {"--rounds", "3",   "--samples=5", "--cache", "flush",    "--warmup-time=0.25",
                       "--shard",  "2/4", "--output",    "x.json",  "--resume", "--quiet"};
  const BenchOptions options = bench_options(words);
  EXPECT_EQ(options.rounds, 3);
  EXPECT_EQ(options.samples, 5);
  EXPECT_EQ(options.cache, CacheState::flush);
  EXPECT_EQ(options.warmup_seconds, 0.25);
  EXPECT_EQ(options.shard.index, 2U);
  EXPECT_EQ(options.shard.count, 4U);
  EXPECT_EQ(options.output, "x.json");
  EXPECT_TRUE(options.resume);
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options.given, words);
  const BenchOptions gate = bench_options({"--baseline=b.json", "--max-slowdown", "3%"});
  EXPECT_EQ(gate.baseline, "b.json");
  EXPECT_EQ(gate.gate.max_slowdown, "3%");
}

TEST(BenchOptions, ADefaultThatIsGivenIsTheDefault) {
  const BenchOptions options =
      bench_options({"--warmup-time", "0.1", "--min-time", "0.5", "--max-time", "9"});
  EXPECT_EQ(options.warmup_seconds, BenchOptions().warmup_seconds);
  EXPECT_EQ(options.min_seconds, BenchOptions().min_seconds);
  EXPECT_EQ(options.max_seconds, BenchOptions().max_seconds);
}

TEST(BenchOptions, WhatIsNoOptionOfBenchBelongsToTheSweep) {
  const BenchOptions options = bench_options({"--hdim", "16,32", "--rounds", "2", "--sink=on,off"});
  EXPECT_THAT(options.lines.front().words, ElementsAre("--hdim", "16,32", "--sink=on,off"));
}

TEST(BenchOptions, TheDeviceStandsInEachSweepButTheCpu) {
  EXPECT_THAT(bench_options({"--hdim", "16", "--device", "emulator"}).lines.front().words,
              ElementsAre("--hdim", "16", "--device", "emulator"));
  const BenchOptions cpu = bench_options({"--device", "cpu"});
  EXPECT_TRUE(cpu.on_cpu());
  EXPECT_THAT(cpu.lines.front().words, IsEmpty());
}

TEST(BenchOptions, SeveralDevicesAreAListOrAll) {
  EXPECT_TRUE(bench_options({"--device", "nvidia:all"}).several_devices());
  EXPECT_TRUE(bench_options({"--device", "nvidia:0,nvidia:1"}).several_devices());
  EXPECT_FALSE(bench_options({"--device", "nvidia:0"}).several_devices());
}

TEST(BenchOptions, TheCommandLinesWordsStandBehindThoseOfEachLineOfTheFiles) {
  const TestFolder folder;
  const std::string one = (folder.path() / "1.txt").string();
  const std::string two = (folder.path() / "2.txt").string();
  put(one, "--hdim 16\n--hdim 32\n");
  put(two, "--hdim 64 --device emulator\n");
  const BenchOptions options = bench_options({"--cases", one, "--cases", two, "--batch", "1"});
  ASSERT_THAT(options.lines, SizeIs(3));
  EXPECT_EQ(options.device, "emulator");
  EXPECT_THAT(options.lines[0].words, ElementsAre("--hdim", "16", "--batch", "1", "--device", "emulator"));
  EXPECT_THAT(options.lines[1].words, ElementsAre("--hdim", "32", "--batch", "1", "--device", "emulator"));
  EXPECT_THAT(options.lines[2].words, ElementsAre("--hdim", "64", "--batch", "1", "--device", "emulator"));
  EXPECT_EQ(bench_options({"--cases", two, "--device", "cpu"}).device, "cpu");
}

TEST(BenchOptions, LinesOfFilesHaveOneDevice) {
  const TestFolder folder;
  const std::string file = (folder.path() / "1.txt").string();
  put(file, "--device emulator\n--device nvidia\n");
  EXPECT_EQ(refusal_of({"--cases", file}),
            "--cases: '" + file +
                "', line 2: --device: 'nvidia' after 'emulator'; allowed is one "
                "device for all lines, or --device on the command line");
}

TEST(BenchOptions, GoogleBenchmarksAreItsOwnButForThoseThatMeanTheSame) {
  const BenchOptions options = bench_options(
      {"--benchmark_filter=x", "--benchmark_repetitions=4", "--benchmark_enable_random_interleaving=false",
       "--benchmark_format=json", "--benchmark_out=o.json", "--benchmark_color=true"});
  EXPECT_EQ(options.filter, "x");
  EXPECT_EQ(options.rounds, 4);
  EXPECT_FALSE(options.interleaved());
  EXPECT_TRUE(options.google_prints);
  EXPECT_EQ(options.google_output, "o.json");
  EXPECT_THAT(options.google,
              ElementsAre("--benchmark_enable_random_interleaving=false", "--benchmark_format=json",
                          "--benchmark_out=o.json", "--benchmark_color=true"));
  EXPECT_TRUE(bench_options({"--benchmark_list_tests"}).list);
  EXPECT_TRUE(bench_options({"--benchmark_list_tests=true"}).list);
  EXPECT_FALSE(bench_options({"--benchmark_list_tests=false"}).list);
}

TEST(BenchOptions, ARoundHasItsShareOfTheTime) {
  const SamplerSettings settings =
      bench_options({"--rounds", "4", "--min-time", "2", "--max-time", "8"}).sampler();
  EXPECT_EQ(settings.stopping.min_seconds, 0.5);
  EXPECT_EQ(settings.stopping.max_seconds, 2.0);
  EXPECT_EQ(settings.stopping.fixed_count, std::nullopt);
  EXPECT_EQ(bench_options({"--samples", "7"}).sampler().stopping.fixed_count, 7U);
}

TEST(BenchOptions, HelpNeedsNothingElse) {
  EXPECT_TRUE(bench_options({"--help", "--nonsense"}).help);
  EXPECT_TRUE(bench_options({"-h"}).help);
  for (const char* option : {"--cases", "--shard", "--cache", "--rounds", "--samples", "--min-time",
                             "--max-time", "--warmup-time", "--output", "--resume", "--quiet", "--baseline",
                             "--ab", "--max-slowdown", "--junit", "--benchmark_filter"}) {
    EXPECT_THAT(bench_help(), HasSubstr(option));
  }
}

struct Refusal {
  Words words;
  std::string message;
};

TEST(BenchOptions, RefusesValuesThatAreNotAllowed) {
  for (
      const Refusal& refusal : std::vector<Refusal>{
          {{"--rounds", "0"}, "--rounds: 0 is not in 1..10000"},
          {{"--rounds", "10001"}, "--rounds: 10001 is not in 1..10000"},
          {{"--rounds", "x"}, "--rounds: 'x' is not a whole number"},
          {{"--benchmark_repetitions=0"}, "--benchmark_repetitions: 0 is not in 1..10000"},
          {{"--samples", "0"}, "--samples: 0 is not in 1..1000000"},
          {{"--samples", "1000001"}, "--samples: 1000001 is not in 1..1000000"},
          {{"--cache", "cold"}, "--cache: 'cold' is not allowed; one of rotate, flush, warm"},
          {{"--min-time", "-1"}, "--min-time: -1 is not allowed; 0 or more"},
          {{"--max-time", "x"}, "--max-time: 'x' is not a number"},
          {{"--warmup-time", "inf"}, "--warmup-time: 'inf' is not a finite number"},
          {{"--warmup-time", "nan"}, "--warmup-time: 'nan' is not a finite number"},
          {{"--min-time", "10"}, "--min-time: 10 is more than --max-time 9"},
          {{"--shard", "3/2"}, "--shard: 3 is not in 1..2"},
          {{"--shard", "1/2", "--baseline", "b.json"},
           "--baseline: has the cases of all shards; allowed without --shard, or compare the merged results"},
          {{"--rounds", "2", "--benchmark_repetitions=3"},
           "--rounds: not allowed together with --benchmark_repetitions, which means the same"},
          {{"--device", "emulator:0,emulator:1", "--benchmark_out=x"},
           "--benchmark_out: has one process's results; allowed on one device, without --ab"},
          {{"--ab", "y", "--benchmark_out=x"},
           "--benchmark_out: has one process's results; allowed on one device, without --ab"},
          {{"--max-slowdown", "3", "--baseline", "x"},
           "--max-slowdown: '3' is not allowed; a percentage from 0% to 100%, like 3%"},
          {{"--alpha", "1", "--baseline", "x"},
           "--alpha: '1' is not allowed; a probability from 0.000001 to 0.5"},
          {{"--benchmark_format=xml"}, "--benchmark_format: 'xml' is not allowed; one of console, json, csv"},
          {{"--benchmark_out_format=xml"},
           "--benchmark_out_format: 'xml' is not allowed; one of console, json, csv"},
          {{"--benchmark_time_unit=h"}, "--benchmark_time_unit: 'h' is not allowed; one of ns, us, ms, s"},
      }) {
    EXPECT_EQ(refusal_of(refusal.words), refusal.message);
  }
}

TEST(BenchOptions, TakesAFixedCountOfSamplesWhereTwoBuildsTakeTurnsOnTheCpu) {
  EXPECT_EQ(bench_options({"--device", "cpu", "--ab", "x"}).samples, 30);
  EXPECT_EQ(bench_options({"--device", "cpu", "--ab", "x", "--samples", "7"}).samples, 7);
  EXPECT_EQ(bench_options({"--device", "cpu"}).samples, std::nullopt);
  EXPECT_EQ(bench_options({"--ab", "x"}).samples, std::nullopt);
}

TEST(BenchOptions, RefusesWhatHasNoEffect) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {{"--samples", "2", "--min-time", "1"}, "--min-time: no effect with --samples, a fixed count"},
           {{"--samples", "2", "--max-time", "1"}, "--max-time: no effect with --samples, a fixed count"},
           {{"--resume"}, "--resume: goes on with a file; allowed with --output FILE"},
           {{"--resume", "--output", "-"}, "--resume: goes on with a file; allowed with --output FILE"},
           {{"--resume", "--output", "x", "--ab", "y"}, "--resume: not allowed together with --ab"},
           {{"--baseline", "x", "--ab", "y"}, "--baseline: not allowed together with --ab"},
           {{"--benchmark_format=json", "--output", "-"},
            "--benchmark_format: goes to stdout, as --output -; allowed with another --output"},
           {{"--benchmark_min_time=1"}, "--benchmark_min_time: no effect; allowed is --min-time"},
           {{"--benchmark_min_warmup_time=1"},
            "--benchmark_min_warmup_time: no effect; allowed is --warmup-time"},
           {{"--device", "cpu", "--cache", "flush"},
            "--cache: the reference on the CPU takes its inputs as they are; allowed without --device cpu"},
           {{"--device", "cpu", "--ab", "x", "--max-time", "1"},
            "--max-time: no effect with --ab on the CPU, which takes a fixed count; allowed is --samples"},
           {{"--device", "nvidia:all", "--ab", "x"},
            "--ab: measures on one device; allowed with one --device"},
       }) {
    EXPECT_EQ(refusal_of(refusal.words), refusal.message);
  }
}

TEST(BenchOptions, RefusesTheGatesOptionsWhereNothingIsCompared) {
  for (const Words& words : std::vector<Words>{{"--max-slowdown", "3%"},
                                               {"--alpha", "0.1"},
                                               {"--junit", "x"},
                                               {"--markdown", "x"},
                                               {"--allow-unlike"},
                                               {"--allow-missing"}}) {
    EXPECT_EQ(refusal_of(words), words.front() + ": nothing is compared; allowed with --baseline or --ab");
    Words with_baseline = words;
    with_baseline.insert(with_baseline.end(), {"--baseline", "x"});
    EXPECT_NO_THROW(static_cast<void>(bench_options(with_baseline))) << words.front();
  }
}

TEST(BenchOptions, RefusesAnOptionWithoutItsValue) {
  for (const char* option :
       {"--output", "--baseline", "--ab", "--device", "--rounds", "--cache", "--shard"}) {
    EXPECT_THAT(refusal_of({option}), HasSubstr(option));
    EXPECT_THAT(refusal_of({std::string(option) + "="}), StartsWith(option));
  }
  EXPECT_THAT(refusal_of({"--output", "--resume"}), HasSubstr("--output"));
}

TEST(BenchOptions, RefusesADeviceThatIsNone) {
  EXPECT_THAT(refusal_of({"--device", "toaster"}), HasSubstr("--device: 'toaster'"));
}

}  // namespace
}  // namespace fmha_bwd
