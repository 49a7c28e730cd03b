#include "bench/results_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/bench/made_up_results.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

/// Every member has a value of its own that is not the default.
BenchResults full_results() {
  BenchResults results;
  results.context = {"0.1.0",
                     "v1-2-gabc",
                     "fmha_bwd bench --rounds 2",
                     "2025-01-02T03:04:05Z",
                     "host",
                     "cpu",
                     8,
                     "nvidia",
                     "H200 \"NVL\" \xC3\xA9",
                     "sm_90",
                     "570.1",
                     "CUDA 13.0",
                     true,
                     132,
                     1980.5,
                     4800.25,
                     60000000,
                     700.5,
                     "nvml",
                     "flush",
                     1.5,
                     12,
                     0.5,
                     9.5,
                     2,
                     true,
                     "pair 1"};
  BenchCase item;
  item = {"name",
          3,
          "fmha_bwd bench",
          "backward",
          "top_left",
          "bf16",
          "bshd",
          2,
          8,
          4,
          64,
          65,
          {64, 1},
          {65, 2},
          128,
          96,
          "dropout:0.1",
          "normal std=0.1 seed=42",
          "0123456789abcdef",
          "hopper",
          1,
          "full",
          4096,
          2080,
          1e9,
          2e9,
          3e6,
          1e15,
          "",
          0,
          {}};
  Round round = {{1.1, 1.2}, {1.0 / 3.0, 1.05}, {0.9}, 7, "steady", 2, true, {}};
  round.telemetry = {1500.5, "counters", 650.25, 71.5, {"power cap", "thermal"}};
  item.rounds = {round, round_of(2.0)};
  results.cases = {item, failed_case("other", "dQ is wrong", 1, 4)};
  return results;
}

Json json_of(const BenchResults& results) { return Json::parse(results_text(results)); }

/// The message that refuses the results after a change to their JSON.
template <class Change>
std::string refusal_after(const Change& change) {
  Json json = json_of(full_results());
  change(json);
  return message_of([&] { results_from(json.dump(), "--x: 'f'"); });
}

TEST(ResultsJson, GivesBackEveryMember) {
  const BenchResults results = full_results();
  const BenchResults back = results_from(results_text(results), "here");
  EXPECT_EQ(back.context, results.context);
  ASSERT_EQ(back.cases.size(), 2u);
  EXPECT_EQ(back.cases[0], results.cases[0]);
  EXPECT_EQ(back.cases[1], results.cases[1]);
  EXPECT_EQ(results_text(back), results_text(results));
}

TEST(ResultsJson, GivesBackWhatIsNotThere) {
  BenchResults results = full_results();
  results.context.power_cap_watts.reset();
  results.context.samples.reset();
  results.cases[0].rounds[0].telemetry = {};
  results.cases[0].seqlens_q.clear();
  EXPECT_EQ(results_from(results_text(results), "here"), results);
  EXPECT_EQ(results_from(results_text({}), "here"), BenchResults{});
}

// A default in every member would make the tests above blind to one that is neither written nor read.
TEST(ResultsJson, HasEveryMemberOfTheTest) {
  const BenchResults none;
  const Json empty = json_of({none.context, {BenchCase{}}});
  const Json full = json_of(full_results());
  for (const auto& [name, value] : full.at("context").at("fmha_bwd").items()) {
    if (name == "schema_version") continue;
    EXPECT_NE(value, empty.at("context").at("fmha_bwd").at(name)) << name;
  }
  for (const auto& [name, value] : full.at("cases")[0].items()) {
    if (name == "error" || name == "exit_code") continue;  // the second case has them
    EXPECT_NE(value, empty.at("cases")[0].at(name)) << name;
  }
}

TEST(ResultsJson, RefusesAnotherSchema) {
  EXPECT_EQ(refusal_after([](Json& json) { json["context"]["fmha_bwd"]["schema_version"] = 3; }),
            "--x: 'f': schema_version 3; allowed is 2");
}

TEST(ResultsJson, RefusesWhatLacksAMemberOrHasAnotherType) {
  EXPECT_THAT(refusal_after([](Json& json) { json["context"]["fmha_bwd"].erase("driver"); }),
              AllOf(StartsWith("--x: 'f': no results of fmha_bwd bench: "), HasSubstr("driver")));
  EXPECT_THAT(refusal_after([](Json& json) { json["cases"][0].erase("fill"); }), HasSubstr("fill"));
  EXPECT_THAT(refusal_after([](Json& json) { json["cases"][0]["rounds"][0].erase("stopped"); }),
              HasSubstr("stopped"));
  EXPECT_THAT(refusal_after([](Json& json) { json["cases"][0]["rounds"][0]["telemetry"].erase("throttle"); }),
              HasSubstr("throttle"));
  EXPECT_THAT(refusal_after([](Json& json) { json.erase("cases"); }), HasSubstr("cases"));
  EXPECT_THAT(refusal_after([](Json& json) { json.erase("context"); }), HasSubstr("context"));
  EXPECT_THAT(refusal_after([](Json& json) { json["cases"][0]["rounds"][0]["batch_ms"][0] = nullptr; }),
              HasSubstr("no results of fmha_bwd bench"));
  EXPECT_THAT(refusal_after([](Json& json) { json["cases"][0]["batch"] = "two"; }),
              HasSubstr("no results of fmha_bwd bench"));
  EXPECT_THAT(refusal_after([](Json& json) { json = Json::array(); }),
              HasSubstr("no results of fmha_bwd bench"));
}

TEST(ResultsJson, RefusesWhatIsNoJson) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("NaN"),
                                  std::string("\xff\0", 2), results_text(full_results()).substr(0, 700)}) {
    EXPECT_THAT(message_of([&] { results_from(text, "here"); }), StartsWith("here: ")) << text;
  }
}

TEST(ResultsJson, ReadsFilesAndRefusesThoseThatAreNotThere) {
  const TestFolder folder;
  put(folder.path() / "results.json", results_text(full_results()));
  EXPECT_EQ(read_results(folder.path() / "results.json", "--x"), full_results());
  const std::string missing = (folder.path() / "none.json").string();
  EXPECT_EQ(message_of([&] { read_results(missing, "--x"); }),
            "--x: '" + missing + "': cannot be read: No such file or directory");
  EXPECT_EQ(message_of([&] { read_results(folder.path(), "--x"); }),
            "--x: '" + folder.path().string() + "': cannot be read: Is a directory");
}

/// The entries of "benchmarks" whose member has that value.
std::vector<Json> entries_with(const Json& json, const char* member, const Json& value) {
  std::vector<Json> entries;
  for (const Json& entry : json.at("benchmarks")) {
    if (entry.contains(member) && entry[member] == value) entries.push_back(entry);
  }
  return entries;
}

// What tools/compare.py of Google Benchmark reads: name, run_type, real_time, cpu_time, time_unit,
// repetition_index, aggregate_name, error_occurred.
TEST(ResultsJson, HasAnEntryARoundForGoogleBenchmark) {
  const Json json = json_of(results_of_cases({case_of("a", {1.0, 2.0, 4.0})}));
  const std::vector<Json> rounds = entries_with(json, "run_type", "iteration");
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[2]["name"], "a");
  EXPECT_EQ(rounds[2]["run_name"], "a");
  EXPECT_EQ(rounds[2]["real_time"], 4.0);
  EXPECT_EQ(rounds[2]["cpu_time"], 4.0);
  EXPECT_EQ(rounds[2]["time_unit"], "ms");
  EXPECT_EQ(rounds[2]["repetitions"], 3);
  EXPECT_EQ(rounds[2]["repetition_index"], 2);
  // 2e9 FLOPs in 4 ms.
  EXPECT_DOUBLE_EQ(rounds[2]["TFLOPS"].get<double>(), 0.5);
}

TEST(ResultsJson, HasTheAggregatesOfTheRounds) {
  const Json json = json_of(results_of_cases({case_of("a", {1.0, 2.0, 6.0})}));
  const auto time = [&](const char* aggregate) {
    const std::vector<Json> entries = entries_with(json, "aggregate_name", aggregate);
    EXPECT_EQ(entries.size(), 1u) << aggregate;
    EXPECT_EQ(entries.at(0)["name"], std::string("a_") + aggregate);
    EXPECT_EQ(entries.at(0)["run_type"], "aggregate");
    return entries.at(0)["real_time"].get<double>();
  };
  EXPECT_DOUBLE_EQ(time("mean"), 3.0);
  EXPECT_DOUBLE_EQ(time("median"), 2.0);
  EXPECT_DOUBLE_EQ(time("stddev"), std::sqrt(7.0));
  EXPECT_DOUBLE_EQ(time("cv"), std::sqrt(7.0) / 3.0);
  EXPECT_TRUE(
      entries_with(json_of(results_of_cases({case_of("a", {1.0})})), "run_type", "aggregate").empty());
}

TEST(ResultsJson, HasAnErrorForGoogleBenchmarkWhereACaseFailed) {
  const Json json = json_of(results_of_cases({failed_case("a", "dQ is wrong", 1)}));
  ASSERT_EQ(json.at("benchmarks").size(), 1u);
  EXPECT_EQ(json["benchmarks"][0]["name"], "a");
  EXPECT_EQ(json["benchmarks"][0]["error_occurred"], true);
  EXPECT_EQ(json["benchmarks"][0]["error_message"], "dQ is wrong");
}

TEST(ResultsJson, HasNoWordForWhatIsNotANumber) {
  BenchCase item = case_of("a", {1.0});
  item.rounds[0].batch_ms.clear();
  item.rounds[0].single_ms.clear();
  const Json json = json_of(results_of_cases({item}));
  EXPECT_TRUE(json["benchmarks"][0]["real_time"].is_null());
  EXPECT_TRUE(json["benchmarks"][0]["TFLOPS"].is_null());
}

}  // namespace
}  // namespace fmha_bwd
