#include "src/report/bench/run_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/bench/made_up_results.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The row that begins with the case's name; its cells are parted by one space.
std::string row_of(const BenchResults& results, const std::string& name) {
  std::istringstream lines(run_table(results, false));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string row;
    for (std::string word; words >> word;) row += row.empty() ? word : " " + word;
    if (row.starts_with(name + " ")) return row;
  }
  return "no row of " + name;
}

TEST(RunTable, RowsHaveTimesAndRates) {
  BenchResults results = results_of_cases({case_of("a", {1.0, 2.0, 4.0})});
  results.context.memory_gbytes_per_s = 1.0;
  results.cases[0].peak_flops = 4e12;
  results.cases[0].rounds[0].telemetry.clock_mhz = 1500.0;
  results.cases[0].rounds[1].telemetry.clock_mhz = 1600.0;
  results.cases[0].rounds[2].telemetry.clock_mhz = 1700.0;
  // 2e9 FLOPs and 1e6 bytes in 2 ms: 1 TFLOPS and 0.5 GB/s; the roofline allows the longer of 0.5 and 1 ms.
  EXPECT_EQ(row_of(results, "a"), "a 2.0000 1.0000..4.0000 2.2000 — 1 0.5 25.0% 50.0% 1600");
}

TEST(RunTable, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(row_of(results_of_cases({case_of("a", {2.0})}), "a"),
            "a 2.0000 2.0000..2.0000 2.2000 — 1 0.5 — — —");
}

TEST(RunTable, ACaseWithoutRoundsHasNoNumbers) {
  EXPECT_EQ(row_of(results_of_cases({case_of("a", {})}), "a"), "a — — — — — — — — —");
}

TEST(RunTable, ACaseThatFailedSaysWhy) {
  EXPECT_EQ(row_of(results_of_cases({failed_case("a", "wrong numbers: dQ", 1)}), "a"),
            "a — — — — — — — — — wrong numbers: dQ");
}

TEST(RunTable, SaysWhatWasNotGoodInTheRounds) {
  BenchResults results = results_of_cases({case_of("a", {1.0, 1.0, 1.0})});
  std::vector<Round>& rounds = results.cases[0].rounds;
  rounds[0].slow_clock = 2;
  rounds[1].slow_clock = 3;
  rounds[1].throttled = true;
  rounds[0].stopped = rounds[2].stopped = "time is out";
  rounds[0].telemetry.throttle = {"power cap"};
  rounds[1].telemetry.throttle = {"heat", "power cap"};
  EXPECT_THAT(run_table(results, false), HasSubstr("1 round throttled; 5 samples of a slow clock discarded; "
                                                   "time was out in 2 rounds; heat, power cap"));
}

TEST(RunTable, BeginsWithWhereAndHowItWasMeasured) {
  BenchResults results = results_of_cases({case_of("a", {1.0})});
  results.context.samples = 30;
  results.context.interleaved = true;
  const std::string text = run_table(results, false);
  EXPECT_THAT(
      text,
      HasSubstr("fmha_bwd 0.1.0 (abc)\n  device    nvidia  H200  sm_90\n  driver    570.1  CUDA 13.0\n"));
  EXPECT_THAT(text, HasSubstr("9 rounds of each case in random order, cache rotate, 30 samples a round\n"));
  EXPECT_THAT(text, Not(HasSubstr("emulator")));
  results.context.samples.reset();
  results.context.min_seconds = 0.5;
  results.context.max_seconds = 5.0;
  results.context.interleaved = false;
  EXPECT_THAT(run_table(results, false),
              HasSubstr("9 rounds of each case, cache rotate, 0.5 to 5 s a case\n"));
}

TEST(RunTable, SaysThatTheEmulatorsTimesAreNoGpus) {
  BenchResults results = results_of_cases({case_of("a", {1.0})});
  results.context.emulated = true;
  EXPECT_THAT(run_table(results, false), HasSubstr("they say nothing about a GPU"));
}

TEST(RunTable, HasColoursOnlyWhereAsked) {
  const BenchResults results = results_of_cases({case_of("a", {1.0})});
  EXPECT_THAT(run_table(results, false), Not(HasSubstr("\033[")));
  EXPECT_THAT(run_table(results, true), HasSubstr("\033["));
}

}  // namespace
}  // namespace fmha_bwd
