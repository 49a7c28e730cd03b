#include "src/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CaseComparison item_of(const std::string& name, CaseVerdict verdict, const std::string& reason = "") {
  CaseComparison item;
  item.name = name;
  item.command = "fmha_bwd bench --mask " + name;
  item.verdict = verdict;
  item.reason = reason;
  return item;
}

CaseComparison measured(const std::string& name, CaseVerdict verdict, double base, double latest) {
  CaseComparison item = item_of(name, verdict);
  item.base_ms = base;
  item.latest_ms = latest;
  item.base_rounds = item.latest_rounds = 9;
  item.effect = {.time = {latest / base, {latest / base - 0.01, latest / base + 0.01}},
                 .cycles = {},
                 .evidence = {.p_slower = 0.0002, .p_faster = 0.75}};
  if (latest > base) item.effect->cycles = Ratio{1.3, {1.29, 1.31}};
  return item;
}

/// A case for every verdict, the best first.
Comparison every_verdict() {
  Comparison comparison;
  comparison.cases = {measured("same", CaseVerdict::same, 2.0, 2.0),
                      measured("fast", CaseVerdict::faster, 2.0, 1.0),
                      item_of("added", CaseVerdict::not_in_base, "the baseline does not have it"),
                      item_of("gone", CaseVerdict::missing, "the new run does not have it"),
                      item_of("few", CaseVerdict::unclear, "new has 3 rounds; at least 9 are needed"),
                      measured("slow", CaseVerdict::slower, 2.0, 2.5),
                      item_of("wrong", CaseVerdict::unclear, "new failed: dQ is wrong")};
  comparison.cases.back().wrong_numbers = true;
  comparison.common = 5;
  return comparison;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Comparison, ConcludesWithTheWorstFirst) {
  EXPECT_EQ(conclusion_of(every_verdict()),
            "1 slower, 2 unclear (1 with wrong numbers), 1 missing, 1 new, 1 faster, 1 same of 7 cases");
  Comparison one;
  one.cases = {item_of("a", CaseVerdict::same)};
  EXPECT_EQ(conclusion_of(one), "1 same of 1 case");
  EXPECT_EQ(conclusion_of({}), "no cases");
}

TEST(ComparisonTable, ShowsARowACaseAndTheConclusionLast) {
  const std::string table = comparison_table(every_verdict(), false);
  EXPECT_THAT(
      table,
      HasSubstr("  case   base ms  new ms   ratio        interval       p  cycles  verdict  reason\n"));
  EXPECT_THAT(table, HasSubstr("  slow    2.0000  2.5000  1.2500  1.2400..1.2600  0.0002  1.3000  slower\n"));
  EXPECT_THAT(table, HasSubstr("  fast    2.0000  1.0000  0.5000  0.4900..0.5100    0.75       -  faster\n"));
  EXPECT_THAT(
      table,
      HasSubstr("  gone         -       -       -               -       -       -  missing  the new run"));
  EXPECT_THAT(table, HasSubstr("below 0.05, and 95% interval of the ratio above 1.01\n"));
  EXPECT_TRUE(table.ends_with("\n" + conclusion_of(every_verdict()) + "\n"));
}

TEST(ComparisonTable, PaintsVerdictsOnlyInColour) {
  EXPECT_THAT(comparison_table(every_verdict(), false), Not(HasSubstr("\033")));
  const std::string table = comparison_table(every_verdict(), true);
  EXPECT_THAT(table, HasSubstr("\033[1;31mslower\033[0m"));
  EXPECT_THAT(table, HasSubstr("\033[32mfaster\033[0m"));
}

TEST(ComparisonTable, ShowsNoControlCharactersOfNames) {
  Comparison comparison;
  comparison.cases = {item_of("a\n\033[2J", CaseVerdict::unclear, "b\nc")};
  EXPECT_THAT(comparison_table(comparison, false), HasSubstr("a\\x0a\\x1b[2J"));
  EXPECT_THAT(comparison_table(comparison, false), HasSubstr("b\\x0ac\n"));
}

TEST(ComparisonMarkdown, IsATableWithTheWorstFirst) {
  const std::string text = comparison_markdown(every_verdict());
  EXPECT_TRUE(text.starts_with("### fmha_bwd: 1 slower, 2 unclear"));
  std::size_t last = 0;
  for (const char* name : {"`wrong`", "`slow`", "`few`", "`gone`", "`added`", "`fast`", "`same`"}) {
    const std::size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(at, last) << name;
    last = at;
  }
  EXPECT_THAT(
      text, HasSubstr("| `slow` | 2.0000 | 2.5000 | 1.2500 | 1.2400 to 1.2600 | 0.0002 | **slower** |  |\n"));
  EXPECT_THAT(text, HasSubstr("| `gone` |  |  |  |  |  | **missing** | the new run does not have it |\n"));
}

TEST(ComparisonMarkdown, PutsTheLargestOfSeveralSlowdownsFirst) {
  Comparison comparison;
  comparison.cases = {measured("a", CaseVerdict::slower, 1.0, 1.1),
                      measured("b", CaseVerdict::slower, 1.0, 1.2)};
  const std::string text = comparison_markdown(comparison);
  EXPECT_LT(text.find("`b`"), text.find("`a`"));
}

TEST(ComparisonMarkdown, LetsNoTextOutOfItsCell) {
  Comparison comparison;
  comparison.cases = {item_of("a|b", CaseVerdict::unclear, "new failed: x|y\n| <script>")};
  EXPECT_THAT(
      comparison_markdown(comparison),
      HasSubstr("| `a\\|b` |  |  |  |  |  | **unclear** | new failed: x\\|y\\\\x0a\\| \\<script\\> |\n"));
}

TEST(ComparisonJunit, HasATestcaseACaseWithItsOutcome) {
  const std::string text = comparison_junit(every_verdict());
  EXPECT_THAT(text, HasSubstr("tests=\"7\" failures=\"1\" errors=\"3\" skipped=\"1\""));
  EXPECT_EQ(occurrences(text, "<testcase "), 7u);
  EXPECT_THAT(text, HasSubstr("name=\"same\" time=\"0.002\"/>\n"));
  EXPECT_THAT(text, HasSubstr("name=\"fast\" time=\"0.001\"/>\n"));
  EXPECT_THAT(text, HasSubstr("name=\"added\">\n      <skipped message=\"the baseline does not have it\"/>"));
  EXPECT_THAT(text,
              HasSubstr("name=\"gone\">\n      <error type=\"missing\" message=\"the new run does not"));
  EXPECT_THAT(text, HasSubstr("<error type=\"unclear\" message=\"new has 3 rounds"));
  EXPECT_THAT(text, HasSubstr("<error type=\"wrong numbers\" message=\"new failed: dQ is wrong\">reproduce: "
                              "fmha_bwd bench --mask wrong</error>"));
  EXPECT_THAT(text,
              HasSubstr("<failure type=\"slower\" message=\"1.2500 times the baseline&apos;s time (1.2400 "
                        "to 1.2600), p = 0.0002\">"));
}

TEST(ComparisonJunit, SkipsAMissingCaseThatIsAllowed) {
  Comparison comparison = every_verdict();
  comparison.settings.allow_missing = true;
  const std::string text = comparison_junit(comparison);
  EXPECT_THAT(text, HasSubstr("errors=\"2\" skipped=\"2\""));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"the new run does not have it\"/>"));
}

TEST(ComparisonJunit, EscapesEveryText) {
  Comparison comparison;
  comparison.cases = {item_of("<a & \"b\">", CaseVerdict::unclear, "x < y\n</error>")};
  const std::string text = comparison_junit(comparison);
  EXPECT_THAT(text, HasSubstr("name=\"&lt;a &amp; &quot;b&quot;&gt;\""));
  EXPECT_THAT(text, HasSubstr("message=\"x &lt; y\\x0a&lt;/error&gt;\""));
  EXPECT_THAT(text, HasSubstr("reproduce: fmha_bwd bench --mask &lt;a &amp;"));
}

TEST(Comparison, WritesEveryFileThatIsAskedFor) {
  const TestFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  std::ostringstream out;
  std::ostringstream err;
  const ComparisonReport report{ComparisonFormat::json, path("c.json"), path("c.xml"), path("c.md"), false};
  check_writable(report);
  EXPECT_EQ(report_comparison(every_verdict(), report, {out, err}), ExitCode::wrong_numbers);
  EXPECT_EQ(contents(path("c.json")), comparison_json(every_verdict()));
  EXPECT_EQ(contents(path("c.xml")), comparison_junit(every_verdict()));
  EXPECT_EQ(contents(path("c.md")), comparison_markdown(every_verdict()));
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(err.str(), conclusion_of(every_verdict()) + "; report in " + path("c.json") + "\n");
}

TEST(Comparison, NamesTheOptionWhoseFileCannotBeWritten) {
  const TestFolder folder;
  const std::string nowhere = (folder.path() / "none" / "file").string();
  ComparisonReport report;
  report.junit = nowhere;
  EXPECT_THAT(message_of([&] { check_writable(report); }, ExitCode::device_error),
              HasSubstr("--junit: cannot write '" + nowhere));
  report.junit.reset();
  report.markdown = nowhere;
  EXPECT_THAT(message_of([&] { check_writable(report); }, ExitCode::device_error),
              HasSubstr("--markdown: cannot write '" + nowhere));
}

}  // namespace
}  // namespace fmha_bwd
