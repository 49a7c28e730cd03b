#include "src/bench/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/results_json.h"
#include "tests/bench/made_up_results.h"
#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// A plan of cases without rounds.
std::vector<PlannedCase> plan_of(const std::vector<std::string>& names) {
  std::vector<PlannedCase> planned;
  for (const std::string& name : names) {
    planned.emplace_back();
    planned.back().item = case_of(name, {}, static_cast<std::int64_t>(planned.size()) - 1);
  }
  return planned;
}

class Store : public ::testing::Test {
 protected:
  const std::string& path() const { return path_; }

  ResultsStore store(const std::vector<std::string>& names,
                     const BenchContext& context = made_up_context()) const {
    return ResultsStore(context, plan_of(names), path_);
  }
  /// A file with these cases.
  void put_file(const std::vector<BenchCase>& cases) const {
    put(path_, results_text(results_of_cases(cases)));
  }
  std::string refusal_of(const std::vector<std::string>& names, const BenchContext& context) const {
    return message_of([&] { store(names, context).resume(); });
  }

 private:
  TestFolder folder_;
  std::string path_ = (folder_.path() / "results.json").string();
};

TEST_F(Store, BeginsWithThePlannedCasesWithoutRounds) {
  const ResultsStore begun = store({"a", "b"});
  ASSERT_THAT(begun.results().cases, SizeIs(2));
  EXPECT_EQ(begun.results().cases[1].name, "b");
  EXPECT_THAT(begun.results().cases[1].rounds, IsEmpty());
  EXPECT_EQ(begun.results().context, made_up_context());
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Store, SavesAllOfItsResults) {
  ResultsStore kept = store({"a", "b"});
  kept.item(1).rounds.push_back(round_of(2.0));
  kept.save();
  EXPECT_EQ(read_results(path(), "x"), kept.results());
}

TEST_F(Store, LeavesNoOtherFileBehind) {
  store({"a"}).save();
  store({"a"}).save();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path()).parent_path())) {
    files.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(files, ::testing::ElementsAre("results.json"));
}

TEST_F(Store, WithoutAPathKeepsNothing) {
  ResultsStore kept(made_up_context(), plan_of({"a"}), std::nullopt);
  kept.save();
  kept.resume();
  EXPECT_THAT(kept.results().cases.front().rounds, IsEmpty());
}

TEST_F(Store, ResumesWithTheRoundsOfTheFile) {
  put_file({case_of("b", {1.0, 2.0}, 1), case_of("a", {3.0}, 0)});
  ResultsStore resumed = store({"a", "b", "c"});
  resumed.resume();
  EXPECT_EQ(resumed.results().cases[0], case_of("a", {3.0}, 0));
  EXPECT_EQ(resumed.results().cases[1], case_of("b", {1.0, 2.0}, 1));
  EXPECT_THAT(resumed.results().cases[2].rounds, IsEmpty());
}

TEST_F(Store, ResumesWithItsOwnNumbersAndCommand) {
  BenchContext before = made_up_context();
  before.command = "fmha_bwd bench before";
  before.started = "long ago";
  put(path(), results_text({before, {case_of("a", {3.0}, 7)}}));
  ResultsStore resumed = store({"a"});
  resumed.resume();
  EXPECT_EQ(resumed.results().cases[0].index, 0);
  EXPECT_EQ(resumed.results().context, made_up_context());
}

TEST_F(Store, WithoutAFileResumesFromNothing) {
  ResultsStore resumed = store({"a"});
  resumed.resume();
  EXPECT_EQ(resumed.results(), store({"a"}).results());
}

TEST_F(Store, TriesErrorsOfTheDeviceAgainAndNoOthers) {
  put_file({failed_case("a", "out of memory", 6, 0), failed_case("b", "wrong numbers", 1, 1),
            failed_case("c", "no kernel", 3, 2)});
  ResultsStore resumed = store({"a", "b", "c"});
  resumed.resume();
  EXPECT_EQ(resumed.results().cases[0].error, "");
  EXPECT_EQ(resumed.results().cases[0].exit_code, 0);
  EXPECT_EQ(resumed.results().cases[1].error, "wrong numbers");
  EXPECT_EQ(resumed.results().cases[1].exit_code, 1);
  EXPECT_EQ(resumed.results().cases[2].exit_code, 3);
}

TEST_F(Store, RefusesAFileOfAnotherSweep) {
  put_file({case_of("a", {1.0}), case_of("z", {1.0}, 1)});
  EXPECT_EQ(refusal_of({"a", "b"}, made_up_context()),
            "--resume: '" + path() +
                "' has the case z, which this sweep lacks; allowed is a file of the same sweep and build");
}

TEST_F(Store, RefusesAFileOfAnotherBuildDeviceOrSampling) {
  put_file({case_of("a", {1.0})});
  const auto refusal = [&](const auto& change) {
    BenchContext context = made_up_context();
    change(context);
    const std::string message = refusal_of({"a"}, context);
    EXPECT_THAT(message, StartsWith("--resume: '" + path() + "' differs in "));
    EXPECT_THAT(message, EndsWith("; allowed is a file of the same sweep and build"));
    return message;
  };
  EXPECT_THAT(refusal([](BenchContext& context) { context.revision = "def"; }),
              HasSubstr("revision: 'abc' and 'def'"));
  EXPECT_THAT(refusal([](BenchContext& context) { context.driver = "1"; }),
              HasSubstr("driver: '570.1' and '1'"));
  EXPECT_THAT(refusal([](BenchContext& context) { context.rounds = 3; }), HasSubstr("rounds: 9 and 3"));
  EXPECT_THAT(refusal([](BenchContext& context) { context.samples = 4; }), HasSubstr("samples: none and 4"));
  EXPECT_THAT(refusal([](BenchContext& context) { context.cache = "warm"; }),
              HasSubstr("'rotate' and 'warm'"));
}

TEST_F(Store, RefusesAFileThatIsNoResults) {
  for (const std::string text : {"", "{", "{}", "[1]", "{\"context\": {}}"}) {
    put(path(), text);
    EXPECT_THAT(refusal_of({"a"}, made_up_context()), StartsWith("--resume: '" + path() + "'")) << text;
  }
}

TEST_F(Store, SaysWhereItCannotSave) {
  const std::string nowhere = path() + "/not/there.json";
  EXPECT_THAT(message_of([&] { ResultsStore(made_up_context(), plan_of({"a"}), nowhere).save(); },
                         ExitCode::device_error),
              StartsWith("--output: cannot write '" + nowhere + "'"));
}

}  // namespace
}  // namespace fmha_bwd
