// fmha_bwd compare, through the whole program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/results_json.h"
#include "tests/bench/made_up_results.h"
#include "tests/src/files/files_test.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

std::vector<double> steady(double center) { return noisy_times(center, 0.001, 9, 1, 0); }

class CompareCommand : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string file(const std::string& name, const BenchResults& results) const {
    put(path(name), results_text(results));
    return path(name);
  }

  Outcome compare_files(const BenchResults& base, const BenchResults& latest,
                        std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"compare", file("base.json", base), file("new.json", latest)});
    return run_with(options);
  }

  Outcome compare_cases(const std::vector<BenchCase>& base, const std::vector<BenchCase>& latest,
                        const std::vector<std::string>& options = {}) const {
    return compare_files(results_of_cases(base), results_of_cases(latest), options);
  }

  /// One case, so much slower.
  Outcome compare_ratio(double ratio, const std::vector<std::string>& options = {}) const {
    return compare_cases({case_of("a", steady(1.0))}, {case_of("a", steady(ratio))}, options);
  }

 private:
  TestFolder folder_;
};

TEST_F(CompareCommand, PassesWhereNothingIsSlower) {
  const Outcome outcome = compare_ratio(1.0);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.ends_with("\n1 same of 1 case\n")) << outcome.out;
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(CompareCommand, EndsWithFourWhereACaseIsSlower) {
  const Outcome outcome = compare_ratio(1.02);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, HasSubstr("1.0200"));
  EXPECT_TRUE(outcome.out.ends_with("\n1 slower of 1 case\n")) << outcome.out;
}

TEST_F(CompareCommand, NeverFailsForAFasterCase) {
  EXPECT_EQ(compare_ratio(0.5).exit_code, 0);
  EXPECT_THAT(compare_ratio(0.5).out, HasSubstr("1 faster of 1 case"));
}

TEST_F(CompareCommand, TakesTheSlowdownThatIsAllowed) {
  EXPECT_EQ(compare_ratio(1.02, {"--max-slowdown", "3%"}).exit_code, 0);
  EXPECT_EQ(compare_ratio(1.02, {"--max-slowdown=1.5%"}).exit_code, 4);
  EXPECT_EQ(compare_ratio(1.02, {"--max-slowdown", "0%"}).exit_code, 4);
}

TEST_F(CompareCommand, TakesTheProbability) {
  EXPECT_EQ(compare_ratio(1.02, {"--alpha", "0.0001"}).exit_code, 4);
  EXPECT_EQ(compare_ratio(1.02, {"--alpha", "0.00001"}).exit_code, 5);
}

TEST_F(CompareCommand, EndsWithFiveWhereItIsUnclear) {
  const Outcome outcome = compare_cases({case_of("a", {1.0, 1.0})}, {case_of("a", {1.0, 1.0})});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.out, HasSubstr("unclear  new has 2 rounds; at least 9 are needed\n"));
}

TEST_F(CompareCommand, EndsWithFiveForAMissingCaseUnlessAllowed) {
  const std::vector<BenchCase> base = {case_of("a", steady(1.0)), case_of("b", steady(1.0))};
  EXPECT_EQ(compare_cases(base, {base[0]}).exit_code, 5);
  EXPECT_EQ(compare_cases(base, {base[0]}, {"--allow-missing"}).exit_code, 0);
  EXPECT_THAT(compare_cases(base, {base[0]}, {"--allow-missing"}).out,
              HasSubstr("1 missing, 1 same of 2 cases"));
}

TEST_F(CompareCommand, CountsANewCaseAndPasses) {
  const std::vector<BenchCase> latest = {case_of("a", steady(1.0)), case_of("b", steady(1.0))};
  const Outcome outcome = compare_cases({latest[0]}, latest);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("1 new, 1 same of 2 cases"));
}

TEST_F(CompareCommand, EndsWithThreeWhereNothingIsInCommon) {
  EXPECT_EQ(compare_cases({case_of("a", steady(1.0))}, {case_of("b", steady(1.0))}).exit_code, 3);
}

TEST_F(CompareCommand, EndsWithOneForWrongNumbersBeforeASlowerCase) {
  const std::vector<BenchCase> base = {case_of("a", steady(1.0)), case_of("b", steady(1.0))};
  const Outcome outcome =
      compare_cases(base, {failed_case("a", "dQ is wrong", 1), case_of("b", steady(2.0))});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("new failed: dQ is wrong"));
  EXPECT_THAT(outcome.out, HasSubstr("1 slower, 1 unclear (1 with wrong numbers) of 2 cases"));
}

TEST_F(CompareCommand, RefusesUnlikeContextsUnlessAllowed) {
  const BenchResults base = results_of_cases({case_of("a", steady(1.0))});
  BenchResults latest = base;
  latest.context.driver = "1";
  const Outcome refused = compare_files(base, latest);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_EQ(
      refused.err,
      "fmha_bwd: the baseline and the new run are not comparable: driver: '570.1' and '1'; --allow-unlike "
      "compares them\n");
  const Outcome allowed = compare_files(base, latest, {"--allow-unlike"});
  EXPECT_EQ(allowed.exit_code, 0);
  EXPECT_EQ(allowed.err, "fmha_bwd: compared although unlike: driver: '570.1' and '1'\n");
  latest.context.cache = "warm";
  EXPECT_THAT(compare_files(base, latest).err, HasSubstr("(and 1 more)"));
}

TEST_F(CompareCommand, WritesJsonForPrograms) {
  const Outcome outcome = compare_ratio(1.02, {"--format", "json"});
  EXPECT_EQ(outcome.exit_code, 4);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["exit_code"], 4);
  EXPECT_EQ(json["conclusion"], "1 slower of 1 case");
  EXPECT_EQ(json["counts"]["slower"], 1);
  EXPECT_EQ(json["counts"]["same"], 0);
  EXPECT_EQ(json["settings"]["max_slowdown"], 0.01);
  const Json& item = json["cases"][0];
  EXPECT_EQ(item["verdict"], "slower");
  EXPECT_EQ(item["new_rounds"], 9);
  EXPECT_NEAR(item["effect"]["ratio"].get<double>(), 1.02, 1e-12);
  EXPECT_DOUBLE_EQ(item["effect"]["p_slower"].get<double>(), 1.0 / 48620.0);
  EXPECT_GT(item["effect"]["interval"][0], 1.01);
}

TEST_F(CompareCommand, WritesTheOtherFormats) {
  EXPECT_THAT(compare_ratio(1.02, {"--format", "junit"}).out,
              StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>"));
  EXPECT_THAT(compare_ratio(1.02, {"--format", "markdown"}).out,
              StartsWith("### fmha_bwd: 1 slower of 1 case\n"));
}

TEST_F(CompareCommand, WritesFilesBesidesTheTable) {
  const Outcome outcome =
      compare_ratio(1.02, {"--junit", path("c.xml"), "--markdown", path("c.md"), "--output", path("c.txt")});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("1 slower of 1 case; report in "));
  EXPECT_THAT(contents(path("c.txt")), HasSubstr("base ms"));
  EXPECT_THAT(contents(path("c.xml")), HasSubstr("<failure type=\"slower\""));
  EXPECT_THAT(contents(path("c.md")), HasSubstr("**slower**"));
  EXPECT_THAT(compare_ratio(1.0, {"--output", "-"}).out, HasSubstr("1 same"));
}

TEST_F(CompareCommand, IsQuietWhenAsked) {
  const Outcome outcome = compare_ratio(1.02, {"--quiet"});
  EXPECT_EQ(outcome.out, "1 slower of 1 case\n");
  EXPECT_THAT(compare_ratio(1.02, {"--quiet", "--output", path("c.txt")}).err, IsEmpty());
}

TEST_F(CompareCommand, EndsWithSixWhereItCannotWrite) {
  for (const char* option : {"--output", "--junit", "--markdown"}) {
    const Outcome outcome = compare_ratio(1.0, {option, path("none/file")});
    EXPECT_EQ(outcome.exit_code, 6);
    EXPECT_THAT(outcome.err, StartsWith(std::string("fmha_bwd: ") + option + ": cannot write '"));
  }
}

TEST_F(CompareCommand, WritesNothingWhereOneOfItsFilesCannotBe) {
  const Outcome outcome = compare_ratio(1.0, {"--junit", path("c.xml"), "--output", path("none/file")});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_FALSE(std::filesystem::exists(path("c.xml")));
}

TEST_F(CompareCommand, RefusesFilesThatItCannotRead) {
  const std::string good = file("good.json", results_of_cases({case_of("a", steady(1.0))}));
  put(path("bad.json"), "{\"benchmarks\": []}");
  const Outcome none = run_with({"compare", path("none.json"), good});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err,
            "fmha_bwd: BASE: '" + path("none.json") + "': cannot be read: No such file or directory\n");
  const Outcome bad = run_with({"compare", good, path("bad.json")});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err,
              StartsWith("fmha_bwd: NEW: '" + path("bad.json") + "': no results of fmha_bwd bench: "));
  EXPECT_EQ(run_with({"compare", path("."), good}).exit_code, 2);
}

TEST_F(CompareCommand, RefusesATimeThatIsNotANumber) {
  BenchCase item = case_of("a", steady(1.0));
  item.rounds[4].batch_ms[0] = std::nan("");
  const Outcome outcome = compare_cases({case_of("a", steady(1.0))}, {item});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, StartsWith("fmha_bwd: NEW: "));
}

TEST_F(CompareCommand, IsUnclearWhereARoundHasNoSamples) {
  BenchCase item = case_of("a", steady(1.0));
  item.rounds[4] = {};
  const Outcome outcome = compare_cases({case_of("a", steady(1.0))}, {item});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.out, Not(HasSubstr("nan")));
}

TEST_F(CompareCommand, RefusesWhatItDoesNotKnow) {
  const auto refusal = [](const std::vector<std::string>& words) {
    const Outcome outcome = run_with(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  const std::string two = "fmha_bwd: compare: needs two results files, BASE and NEW; see --help\n";
  EXPECT_EQ(refusal({"compare"}), two);
  EXPECT_EQ(refusal({"compare", "a"}), two);
  EXPECT_EQ(refusal({"compare", "a", "b", "c"}),
            "fmha_bwd: c: a third file; allowed are two, BASE and NEW\n");
  EXPECT_EQ(refusal({"compare", "a", "b", "--frob"}), "fmha_bwd: --frob: no such option; see --help\n");
  EXPECT_EQ(refusal({"compare", "a", "b", "--format", "csv"}),
            "fmha_bwd: --format: 'csv' is not allowed; one of table, json, markdown, junit\n");
  EXPECT_EQ(refusal({"compare", "a", "b", "--junit"}), "fmha_bwd: --junit: no value given; see --help\n");
  EXPECT_EQ(refusal({"compare", "a", "b", "--junit", ""}), "fmha_bwd: --junit: no value given; see --help\n");
  EXPECT_EQ(refusal({"compare", "a", "b", "--quiet=1"}), "fmha_bwd: --quiet: takes no value\n");
}

TEST_F(CompareCommand, TakesASlowdownOnlyWithItsSign) {
  for (const char* value :
       {"3", "0.03", "3 %", "-3%", "%", "%3", "3%%", "101%", "nan%", "inf%", "x%", "1e999%"}) {
    const Outcome outcome = run_with({"compare", "a", "b", std::string("--max-slowdown=") + value});
    EXPECT_EQ(outcome.exit_code, 2) << value;
    EXPECT_EQ(outcome.err, std::string("fmha_bwd: --max-slowdown: '") + value +
                               "' is not allowed; a percentage from 0% to 100%, like 3%\n");
  }
}

TEST_F(CompareCommand, TakesAProbabilityOnly) {
  for (const char* value : {"0", "1", "5%", "nan", "-0.1", "0.05x"}) {
    const Outcome outcome = run_with({"compare", "a", "b", std::string("--alpha=") + value});
    EXPECT_EQ(outcome.exit_code, 2) << value;
    EXPECT_EQ(outcome.err, std::string("fmha_bwd: --alpha: '") + value +
                               "' is not allowed; a probability from 0.000001 to 0.5\n");
  }
}

TEST_F(CompareCommand, ExplainsItself) {
  const Outcome outcome = run_with({"compare", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* word : {"--max-slowdown", "--alpha", "--allow-unlike", "--allow-missing", "--format",
                           "--output", "--junit", "--markdown", "--quiet", "Exit codes"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
}

}  // namespace
}  // namespace fmha_bwd
