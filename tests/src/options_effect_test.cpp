// Options that would have no effect beside the others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/src/files/files_test.h"
#include "tests/src/options_of.h"

namespace fmha_bwd {
namespace {

using Words = std::vector<std::string>;

std::string refusal(const Words& arguments) {
  return message_of([&] { parse(arguments); });
}

TEST(OptionsEffect, OfDropoutsRandomNumbersNeedsDropout) {
  EXPECT_EQ(refusal({"--dropout-seed", "3"}),
            "--dropout-seed: no effect without dropout; allowed with --dropout P above 0");
  EXPECT_EQ(refusal({"--dropout-offset", "3", "--dropout", "0"}),
            "--dropout-offset: no effect without dropout; allowed with --dropout P above 0");
  EXPECT_EQ(options({"--dropout-seed", "3", "--dropout", "0.5"}).problem.dropout.seed, 3U);
}

TEST(OptionsEffect, OfSavingAFailureNeedsSomethingThatCanFail) {
  const std::string complaint =
      "--save-on-failure: nothing can fail with --verify none; allowed with --verify full or sample, or with "
      "--deterministic and --check-determinism";
  const Words unverified = {"--save-on-failure", "x", "--verify", "none"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), unverified.begin(), unverified.end());
    return more;
  };
  EXPECT_EQ(refusal(unverified), complaint);
  EXPECT_EQ(refusal(with({"--check-determinism", "2"})), complaint);
  EXPECT_EQ(refusal(with({"--deterministic"})), complaint);
  EXPECT_NO_THROW(parse(with({"--check-determinism", "2", "--deterministic"})));
  EXPECT_NO_THROW(parse(with({"--random", "3"})));  // some problems are deterministic
}

TEST(OptionsEffect, OfAReferenceNeedsVerification) {
  const std::string complaint =
      "--reference: no effect with --verify none; allowed with --verify full or sample";
  EXPECT_EQ(refusal({"--reference", "device", "--verify", "none"}), complaint);
  EXPECT_EQ(refusal({"--random", "2", "--verify", "none", "--reference", "device"}), complaint);
  EXPECT_NO_THROW(parse({"--reference", "device"}));
  EXPECT_NO_THROW(parse({"--reference", "device", "--verify", "sample:5"}));
}

TEST(OptionsEffect, OfTheEmulatorsStatisticsNeedsTheEmulator) {
  for (const std::string device : {"nvidia", "amd:1"}) {
    EXPECT_EQ(refusal({"--emulator-stats", "--device", device}),
              "--emulator-stats: not counted on --device " + device + "; allowed with --device emulator");
  }
  EXPECT_TRUE(options({"--emulator-stats", "--device", "emulator:3"}).emulator_stats);
  EXPECT_TRUE(options({"--emulator-stats"}).emulator_stats);  // auto may be the emulator
}

TEST(OptionsEffect, OfTheEmulatorsStatisticsNeedsAPlaceToShowThem) {
  EXPECT_EQ(
      refusal({"--emulator-stats", "--quiet"}),
      "--emulator-stats: not shown in a table with --quiet; allowed without that, or with --format json "
      "or csv");
  EXPECT_NO_THROW(parse({"--emulator-stats", "--quiet", "--format", "json"}));
}

TEST(OptionsEffect, OfRunningIsNoneBesideAListOfKernels) {
  for (const Words& words : {Words{"--random", "3"}, Words{"--save", "x"}, Words{"--save-on-failure", "x"},
                             Words{"--check-determinism", "2"}, Words{"--warmup", "2"},
                             Words{"--repeat", "2"}, Words{"--output", "x"}, Words{"--format", "json"}}) {
    EXPECT_EQ(refusal({"--kernel", "list", words[0], words[1]}),
              "--kernel: 'list' prints a table on stdout and runs nothing; allowed without " + words[0]);
  }
  EXPECT_EQ(refusal({"--kernel", "list", "--emulator-stats"}),
            "--kernel: 'list' prints a table on stdout and runs nothing; allowed without --emulator-stats");
  EXPECT_NO_THROW(parse({"--kernel", "list", "--output", "-", "--format", "table"}));
}

}  // namespace
}  // namespace fmha_bwd
