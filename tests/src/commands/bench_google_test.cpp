// Google Benchmark's own options of fmha_bwd bench.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/src/commands/bench_run.h"

namespace fmha_bwd {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

class BenchGoogle : public BenchRun {
 protected:
  /// What bench and Google Benchmark print to stdout.
  static std::string stdout_of(const std::vector<std::string>& words) {
    testing::internal::CaptureStdout();
    const Outcome outcome = bench(words, paced());
    std::cout.flush();
    const std::string google = testing::internal::GetCapturedStdout();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return google + outcome.out;
  }
};

/// The real times of the rounds of the one case in Google Benchmark's JSON.
std::vector<double> times_of(const Json& json) {
  std::vector<double> times;
  for (const Json& entry : json.at("benchmarks")) {
    if (entry.at("run_type") == "iteration") times.push_back(entry.at("real_time"));
  }
  return times;
}

// The only test that has it print: it does so once a process.
TEST_F(BenchGoogle, ItsJsonStandsAloneOnStdout) {
  const Json json = Json::parse(stdout_of({"--benchmark_format=json"}));
  EXPECT_THAT(times_of(json), SizeIs(2));
  EXPECT_THAT(times_of(json), Each(::testing::DoubleNear(16.0, 1e-9)));
  const std::string name = json.at("benchmarks").at(0).at("name");
  EXPECT_THAT(name, StartsWith("no_mask/fp16/B1/H1/S16/D16"));
  EXPECT_TRUE(json.at("benchmarks").at(0).contains("TFLOPS"));
}

TEST_F(BenchGoogle, ItsOutputIsWrittenBesideTheTable) {
  EXPECT_THAT(stdout_of({"--benchmark_out=" + path("google.json")}), HasSubstr("of roofline"));
  EXPECT_THAT(times_of(Json::parse(contents(path("google.json")))), SizeIs(2));
}

TEST_F(BenchGoogle, OneRunsOptionsDoNotStayForTheNext) {
  static_cast<void>(stdout_of({"--benchmark_out=" + path("google.json")}));
  std::filesystem::remove(path("google.json"));
  EXPECT_THAT(stdout_of({}), HasSubstr("of roofline"));
  EXPECT_FALSE(std::filesystem::exists(path("google.json")));
}

TEST_F(BenchGoogle, ASecondLookLeavesTheOutputOfTheFirst) {
  ASSERT_EQ(bench({"--rounds", "9", "--output", path("base.json")}, paced()).exit_code, 0);
  BenchResults noisy = results("base.json");
  for (std::size_t i = 0; i < 9; i += 2) {
    for (double& time : noisy.cases.front().rounds[i].batch_ms) time *= 1.2;
  }
  put(path("base.json"), results_text(noisy));
  EXPECT_EQ(
      bench({"--rounds", "9", "--baseline", path("base.json"), "--benchmark_out=" + path("google.json")},
            paced(1.1))
          .exit_code,
      5);
  EXPECT_THAT(times_of(Json::parse(contents(path("google.json")))), SizeIs(9));
}

TEST_F(BenchGoogle, ItsRepetitionsAreRounds) {
  ASSERT_EQ(bench({"--benchmark_repetitions=5", "--output", path("r.json")}, paced()).exit_code, 0);
  EXPECT_THAT(results("r.json").cases.front().rounds, SizeIs(5));
}

TEST_F(BenchGoogle, CasesComeInTheirOrderWithoutInterleaving) {
  std::vector<std::int64_t> opened;
  const Decorate watched = with_times([&](const Problem& problem) {
    opened.push_back(problem.seqlen_q);
    return 1.0;
  });
  ASSERT_EQ(bench({"--seqlen", "16:128:+16", "--benchmark_enable_random_interleaving=false", "--output",
                   path("r.json")},
                  watched)
                .exit_code,
            0);
  EXPECT_TRUE(std::is_sorted(opened.begin(), opened.end()));
  EXPECT_FALSE(results("r.json").context.interleaved);
}

TEST_F(BenchGoogle, RefusesAnOptionThatItDoesNotKnow) {
  const Outcome outcome = bench({"--benchmark_nonsense=1"}, paced());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("fmha_bwd: --benchmark_nonsense=1: not an option of Google Benchmark"));
}

TEST_F(BenchGoogle, RefusesAValueThatItDoesNotKnow) {
  EXPECT_EQ(bench({"--benchmark_format=xml"}, paced()).exit_code, 2);
  EXPECT_EQ(bench({"--benchmark_report_aggregates_only=true"}, paced()).exit_code, 0);
}

}  // namespace
}  // namespace fmha_bwd
