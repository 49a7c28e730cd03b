// fmha_bwd merge, through the whole program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/results_json.h"
#include "tests/bench/made_up_results.h"
#include "tests/src/files/files_test.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class MergeCommand : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string file(const std::string& name, const std::vector<BenchCase>& cases) const {
    put(path(name), results_text(results_of_cases(cases)));
    return path(name);
  }

 private:
  TestFolder folder_;
};

const std::vector<double> kTimes = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8};
const BenchCase kFirst = case_of("a", kTimes, 0);
const BenchCase kSecond = case_of("b", kTimes, 1);
const BenchCase kThird = case_of("c", kTimes, 2);

TEST_F(MergeCommand, PrintsTheWhole) {
  const Outcome outcome = run_with({"merge", file("1.json", {kFirst, kThird}), file("2.json", {kSecond})});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, results_text(results_of_cases({kFirst, kSecond, kThird})));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(MergeCommand, WritesAFileThatCompareTakes) {
  const std::string whole = file("whole.json", {kFirst, kSecond, kThird});
  const Outcome outcome = run_with({"merge", "--output", path("merged.json"),
                                    file("1.json", {kFirst, kThird}), file("2.json", {kSecond})});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, "3 cases of 2 files in " + path("merged.json") + "\n");
  EXPECT_EQ(contents(path("merged.json")), contents(whole));
  const Outcome with_whole = run_with({"compare", whole, whole});
  const Outcome with_merged = run_with({"compare", whole, path("merged.json")});
  EXPECT_EQ(with_merged.exit_code, with_whole.exit_code);
  EXPECT_EQ(with_merged.out, with_whole.out);
}

TEST_F(MergeCommand, EndsAsTheWorstCaseAndWritesAllTheSame) {
  const std::string first = file("1.json", {kFirst, failed_case("d", "out of memory", 6, 3)});
  const Outcome six = run_with({"merge", first});
  EXPECT_EQ(six.exit_code, 6);
  EXPECT_THAT(six.out, HasSubstr("out of memory"));
  const std::string second = file("2.json", {failed_case("e", "dQ is wrong", 1, 4)});
  EXPECT_EQ(run_with({"merge", first, second}).exit_code, 1);
  EXPECT_EQ(run_with({"merge", file("3.json", {})}).exit_code, 3);
}

TEST_F(MergeCommand, RefusesFilesThatDoNotGoTogether) {
  const std::string first = file("1.json", {kFirst});
  BenchResults other = results_of_cases({kSecond});
  other.context.device = "another";
  put(path("2.json"), results_text(other));
  const Outcome unlike = run_with({"merge", first, path("2.json"), "--output", path("merged.json")});
  EXPECT_EQ(unlike.exit_code, 2);
  EXPECT_EQ(unlike.err, "fmha_bwd: '" + first + "' and '" + path("2.json") +
                            "' are not parts of one run: device: 'H200' and 'another'\n");
  EXPECT_FALSE(std::filesystem::exists(path("merged.json")));
  const Outcome differs = run_with({"merge", first, file("3.json", {case_of("a", {2.0})})});
  EXPECT_EQ(differs.exit_code, 2);
  EXPECT_THAT(differs.err, HasSubstr("both have the case 'a', and it differs"));
}

TEST_F(MergeCommand, RefusesFilesThatItCannotReadOrWrite) {
  const std::string first = file("1.json", {kFirst});
  const Outcome none = run_with({"merge", first, path("none.json")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err,
            "fmha_bwd: FILES: '" + path("none.json") + "': cannot be read: No such file or directory\n");
  const Outcome nowhere = run_with({"merge", first, "--output", path("none/merged.json")});
  EXPECT_EQ(nowhere.exit_code, 6);
  EXPECT_THAT(nowhere.err, StartsWith("fmha_bwd: --output: cannot write '"));
}

TEST_F(MergeCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run_with({"merge"}).err, "fmha_bwd: merge: needs results files; see --help\n");
  EXPECT_EQ(run_with({"merge"}).exit_code, 2);
  EXPECT_EQ(run_with({"merge", "a", "--frob"}).err, "fmha_bwd: --frob: no such option; see --help\n");
  EXPECT_EQ(run_with({"merge", "a", "--output"}).err, "fmha_bwd: --output: no value given; see --help\n");
}

TEST_F(MergeCommand, ExplainsItself) {
  const Outcome outcome = run_with({"merge", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("--output"));
}

}  // namespace
}  // namespace fmha_bwd
