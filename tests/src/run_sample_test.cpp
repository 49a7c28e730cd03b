// Runs that verify some rows, and runs that ask the device's own reference about all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "reference/sample.h"
#include "src/files/case_file.h"
#include "tests/src/faulty_backend.h"
#include "tests/src/files/files_test.h"
#include "tests/src/options_of.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// 200 queries and 150 keys, of one mask.
std::vector<std::string> arguments(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"--device",   "emulator",   "--batch", "1",           "--nhead",
                                  "1",          "--seqlen-q", "200",     "--hdim",      "8",
                                  "--seqlen-k", "150",        "--mask",  "bottom_right"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Json json_of(std::vector<std::string> more, Fault fault = Fault::none, int exit_code = 0) {
  more.insert(more.end(), {"--format", "json"});
  const Outcome outcome = run_with(arguments(more), with_fault(fault));
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
  return Json::parse(outcome.out);
}

constexpr std::int64_t kFaultyRow = 100;  // of Fault::wrong_element
const std::vector<std::string> kSample = {"--verify", "sample:40", "--seed", "3"};

/// kSample and more.
std::vector<std::string> sample_and(const std::vector<std::string>& more) {
  std::vector<std::string> all = kSample;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Whether the run with these arguments verifies that row of queries.
bool verifies_row(const std::vector<std::string>& more, std::int64_t row) {
  const Options o = options(arguments(more));
  const std::vector<std::int64_t> rows =
      choose_sample(o.problem, o.masks.front(), *o.sample_rows, o.fill.seed).queries.rows;
  return std::binary_search(rows.begin(), rows.end(), row);
}

TEST(RunSample, SaysWhatItComparedAndWhy) {
  const Json report = json_of(kSample);
  EXPECT_EQ(report["verdict"], "passed");
  EXPECT_EQ(report["verification"], Json::parse(R"({"how": "sample", "reason": "--verify sample:40"})"));
  const Json& mask = report["masks"][0];
  EXPECT_EQ(mask["verification"]["dQ"]["elements"], 200 * 8);
  EXPECT_EQ(mask["verification"]["dQ"]["compared"], 40 * 8);
  EXPECT_EQ(mask["verification"]["LSE"]["compared"], 40);
  EXPECT_EQ(mask["verification"]["dV"]["compared"], 40 * 8);
  std::int64_t rows = 0, sampled = 0;
  for (const Json& of_class : mask["sampled"]["queries"]["classes"]) {
    rows += of_class["rows"].get<std::int64_t>();
    sampled += of_class["sampled"].get<std::int64_t>();
  }
  EXPECT_EQ(rows, 200);
  EXPECT_EQ(sampled, 40);
  EXPECT_TRUE(mask["third_opinion"].empty());
  EXPECT_FALSE(mask["timing"].is_null());
  EXPECT_THAT(mask["command"].get<std::string>(), HasSubstr(" --verify sample:40"));
}

TEST(RunSample, OfAllRowsOrOfAShortProblemIsFull) {
  EXPECT_EQ(json_of({"--verify", "full"})["verification"],
            Json::parse(R"({"how": "full", "reason": "--verify full"})"));
  EXPECT_EQ(json_of({})["verification"],
            Json::parse(R"({"how": "full", "reason": "estimated at under 1 s, the limit is 60 s"})"));
  const Json all = json_of({"--verify", "sample:200"});
  EXPECT_EQ(all["verification"],
            Json::parse(R"({"how": "full", "reason": "--verify sample:200; 200 rows would be all"})"));
  EXPECT_TRUE(all["masks"][0]["sampled"].is_null());
  EXPECT_EQ(all["masks"][0]["verification"]["dQ"]["compared"], 200 * 8);
}

TEST(RunSample, MayMissAFaultThatTheDevicesReferenceFinds) {
  ASSERT_FALSE(verifies_row(kSample, kFaultyRow));
  const Json missed = json_of(kSample, Fault::wrong_element);
  EXPECT_EQ(missed["verdict"], "passed");

  const Json found = json_of(sample_and({"--reference", "device"}), Fault::wrong_element, 1);
  EXPECT_EQ(found["verdict"], "failed");
  const Json& mask = found["masks"][0];
  for (const Json& verdict : mask["verification"]) EXPECT_EQ(verdict["passed"], true);
  for (const auto& [name, verdict] : mask["third_opinion"].items()) {
    EXPECT_EQ(verdict["passed"], name != "dQ") << name;
    EXPECT_EQ(verdict["compared"], verdict["elements"]) << name;
  }
  EXPECT_EQ(mask["third_opinion"]["dQ"]["wrong"], 1);
  EXPECT_EQ(mask["third_opinion"]["dQ"]["worst"][0]["index"], Json::parse("[0, 0, 100, 0]"));
  EXPECT_TRUE(mask["timing"].is_null());
  EXPECT_THAT(mask["command"].get<std::string>(), HasSubstr(" --verify sample:40 --reference device"));
}

TEST(RunSample, FindsTheFaultWhereItsRowIsInIt) {
  const std::vector<std::string> most = {"--verify", "sample:199"};
  ASSERT_TRUE(verifies_row(most, kFaultyRow));
  const Json mask = json_of(most, Fault::wrong_element, 1)["masks"][0];
  EXPECT_EQ(mask["verification"]["dQ"]["passed"], false);
  EXPECT_EQ(mask["verification"]["dQ"]["worst"][0]["index"], Json::parse("[0, 0, 100, 0]"));
}

TEST(RunSample, FindsWhatNoKernelWroteInAnyRow) {
  constexpr std::int64_t kUnwrittenRow = 5;
  std::vector<std::string> sampled;
  int seed = 0;
  do {
    sampled = {"--verify", "sample:40", "--seed", std::to_string(seed++)};
  } while (verifies_row(sampled, kUnwrittenRow));
  const Json mask = json_of(sampled, Fault::unwritten_row, 1)["masks"][0];
  EXPECT_EQ(mask["verification"]["dQ"]["unwritten"], 8);
  EXPECT_EQ(mask["verification"]["dQ"]["wrong"], 0);
  EXPECT_EQ(mask["verification"]["dQ"]["passed"], false);
  const Outcome outcome = run_with(arguments(sampled), with_fault(Fault::unwritten_row));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("8 NaNs outside of the sample"));
}

TEST(RunSample, FindsFaultsOfAllRowsAndDamagedGuards) {
  for (const Fault fault : {Fault::zeroed_dk, Fault::zeroed_dq, Fault::shifted_mask, Fault::dropped_scale,
                            Fault::damaged_guard}) {
    EXPECT_EQ(run_with(arguments(kSample), with_fault(fault)).exit_code, 1);
  }
}

TEST(RunSample, IsReproducedByItsCommand) {
  const Json report = json_of(sample_and({"--bias", "head", "--sink", "--dtype", "bf16"}));
  std::istringstream command(report["masks"][0]["command"].get<std::string>());
  std::vector<std::string> words;
  for (std::string word; command >> word;) words.push_back(word);
  ASSERT_EQ(words.front(), "fmha_bwd");
  words.erase(words.begin());
  words.insert(words.end(), {"--format", "json"});
  const Outcome again = run_with(words);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Json other = Json::parse(again.out);
  EXPECT_EQ(other["verification"], report["verification"]);
  EXPECT_EQ(other["masks"][0]["sampled"], report["masks"][0]["sampled"]);
  EXPECT_EQ(other["masks"][0]["command"], report["masks"][0]["command"]);
  EXPECT_EQ(other["masks"][0]["verification"], report["masks"][0]["verification"]);
}

TEST(RunReference, OnTheDeviceAgreesWithSoundKernels) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--bias", "full", "--sink", "--alibi"}, {"--dropout", "0.3"}}) {
    std::vector<std::string> with_device = more;
    with_device.insert(with_device.end(), {"--reference", "device"});
    const Json mask = json_of(with_device)["masks"][0];
    EXPECT_EQ(mask["third_opinion"].size(), mask["verification"].size());
    for (const auto& [name, verdict] : mask["third_opinion"].items()) {
      EXPECT_EQ(verdict["passed"], true) << name;
      EXPECT_GT(verdict["max_diff_budget"], mask["verification"][name]["max_diff_budget"]) << name;
    }
  }
}

TEST(RunReference, OnTheDeviceTakesAllMasksInTurn) {
  const Outcome outcome = run_with(arguments({"--mask", "no_mask,top_left:20,30", "--reference", "device"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

class SampledFolder : public testing::Test {
 protected:
  TestFolder parent_;
  fs::path folder_ = parent_.path() / "run";
};

TEST_F(SampledFolder, HasTheOutputsAndNoReference) {
  json_of(sample_and({"--save", folder_.string()}));
  EXPECT_TRUE(fs::exists(folder_ / "dq.npy"));
  EXPECT_FALSE(fs::exists(folder_ / "reference"));
  const std::vector<std::string> saved = read_case(folder_, "--load");
  EXPECT_NE(std::find(saved.begin(), saved.end(), "sample:40"), saved.end());
  const Outcome again = run_with({"--load", folder_.string(), "--format", "json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out)["verification"]["how"], "sample");
  json_of({"--verify", "full", "--save", folder_.string()});
  EXPECT_TRUE(fs::exists(folder_ / "reference" / "dq.npy"));
  json_of(sample_and({"--save", folder_.string()}));
  EXPECT_FALSE(fs::exists(folder_ / "reference"));
}

TEST_F(SampledFolder, IsSavedWhereTheDevicesReferenceDisagrees) {
  json_of(sample_and({"--reference", "device", "--save-on-failure", folder_.string()}), Fault::wrong_element,
          1);
  EXPECT_TRUE(fs::exists(folder_ / "dq.npy"));
  EXPECT_FALSE(fs::exists(folder_ / "reference"));
}

}  // namespace
}  // namespace fmha_bwd
