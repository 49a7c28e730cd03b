#include "bench/alike.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/made_up_results.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The differences where only `change` was made to the second context.
template <class Change>
std::vector<std::string> lines_after(const Change& change, const BenchContext& context) {
  BenchContext other = context;
  change(other);
  return unlike_contexts(context, other);
}

template <class Change>
std::vector<std::string> lines_after(const Change& change) {
  return lines_after(change, made_up_context());
}

TEST(Alike, AreContextsThatDifferInNothing) {
  EXPECT_THAT(lines_after([](BenchContext&) {}), IsEmpty());
}

TEST(Alike, AreNotThoseOfOtherMachinery) {
  EXPECT_THAT(lines_after([](BenchContext& x) { x.platform = "amd"; }),
              ElementsAre("platform: 'nvidia' and 'amd'"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.device = "H100"; }),
              ElementsAre("device: 'H200' and 'H100'"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.arch = "sm_80"; }),
              ElementsAre("arch: 'sm_90' and 'sm_80'"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.driver = ""; }), ElementsAre("driver: '570.1' and ''"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.cache = "warm"; }),
              ElementsAre("cache state: 'rotate' and 'warm'"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.power_cap_watts = 350.5; }),
              ElementsAre("power cap in watts: 700 and 350.5"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.power_cap_watts.reset(); }),
              ElementsAre("power cap in watts: 700 and none"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.max_clock_mhz = 1200.0; }),
              ElementsAre("largest clock in MHz: 1980 and 1200"));
}

TEST(Alike, NamesEveryDifference) {
  EXPECT_THAT(lines_after([](BenchContext& x) {
                x.arch = "sm_80";
                x.driver = "1";
              }),
              ElementsAre("arch: 'sm_90' and 'sm_80'", "driver: '570.1' and '1'"));
}

TEST(Alike, AreContextsThatWereSampledDifferently) {
  EXPECT_THAT(lines_after([](BenchContext& x) {
                x.samples = 100;
                x.min_seconds = 3.0;
                x.rounds = 20;
                x.revision = "other";
                x.host = "there";
                x.started = "later";
                x.command = "something else";
              }),
              IsEmpty());
}

TEST(Alike, AreTheCPUsOnlyWhereOneComputes) {
  const auto change = [](BenchContext& x) {
    x.cpu = "Another CPU";
    x.cpus = 8;
  };
  EXPECT_THAT(lines_after(change), IsEmpty());
  BenchContext context = made_up_context();
  context.platform = "cpu";
  EXPECT_THAT(lines_after(change, context), ElementsAre("CPU: 'A CPU' and 'Another CPU'", "CPUs: 4 and 8"));
  context.platform = "emulator";
  context.emulated = true;
  EXPECT_THAT(lines_after(change, context), ElementsAre("CPU: 'A CPU' and 'Another CPU'", "CPUs: 4 and 8"));
  EXPECT_THAT(lines_after([](BenchContext& x) { x.emulated = false; }, context),
              ElementsAre("emulated: yes and no"));
}

TEST(Alike, AreNotResultsOfOtherInputs) {
  const BenchResults base = results_of_cases({case_of("a", {1.0}), case_of("b", {1.0})});
  BenchResults latest = base;
  latest.cases[1].fill = "zeros";
  latest.cases[0].input_checksum = "f";
  EXPECT_THAT(unlike_results(base, latest), ElementsAre("input checksum of a: '0123456789abcdef' and 'f'",
                                                        "fill of b: 'normal std=0.1 seed=42' and 'zeros'"));
  latest.context.driver = "1";
  EXPECT_EQ(unlike_results(base, latest).front(), "driver: '570.1' and '1'");
}

TEST(Alike, AreTheInputsOfCasesThatFailedOrStandAlone) {
  const BenchResults base = results_of_cases({case_of("a", {1.0}), failed_case("b", "x", 6)});
  BenchResults latest =
      results_of_cases({failed_case("a", "x", 6), case_of("b", {1.0}), case_of("c", {1.0})});
  for (BenchCase& item : latest.cases) item.input_checksum = "f";
  EXPECT_THAT(unlike_results(base, latest), IsEmpty());
}

TEST(Alike, AreSettingsOnlyOfTheSameProgramAndSampling) {
  const BenchContext context = made_up_context();
  EXPECT_THAT(unlike_settings(context, context), IsEmpty());
  BenchContext other = context;
  other.version = "2";
  other.revision = "def";
  other.runtime = "CUDA 12.0";
  other.warmup_seconds = 1.0;
  other.samples = 10;
  other.min_seconds = 0.5;
  other.max_seconds = 2.0;
  other.rounds = 10;
  other.interleaved = true;
  EXPECT_THAT(unlike_settings(context, other),
              ElementsAre("version: '0.1.0' and '2'", "revision: 'abc' and 'def'",
                          "runtime: 'CUDA 13.0' and 'CUDA 12.0'", "warm-up in seconds: 0 and 1",
                          "samples: none and 10", "least seconds: 0 and 0.5", "most seconds: 0 and 2",
                          "rounds: 9 and 10", "interleaved: no and yes"));
}

}  // namespace
}  // namespace fmha_bwd
