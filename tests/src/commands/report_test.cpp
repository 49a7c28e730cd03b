#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/results_json.h"
#include "tests/src/files/files_test.h"
#include "tests/src/outcome.h"
#include "tests/src/report/bench_sample.h"

namespace fmha_bwd {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ReportCommand : public testing::Test {
 protected:
  std::string in_folder(const std::string& name) const { return (folder_.path() / name).string(); }

  /// The path of a file with these results.
  std::string file(const std::string& name, const BenchResults& results) const {
    put(in_folder(name), results_text(results));
    return in_folder(name);
  }
  std::string file(const std::string& name) const { return file(name, sample_results({sample_case("a")})); }

  TestFolder folder_;
};

/// The data in a page.
nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST_F(ReportCommand, WritesOnePageThatNeedsNothingElse) {
  const Outcome outcome = run_with({"report", file("a.json"), "-o", in_folder("page.html")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string page = contents(in_folder("page.html"));
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<title>Attention backward on Card</title>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("{{")), Not(HasSubstr("src=")), Not(HasSubstr("href=")),
                          Not(HasSubstr("@import")), Not(HasSubstr("url("))));
  EXPECT_EQ(data_of(page)["cases"][0]["tflops"], 4.0);
}

TEST_F(ReportCommand, WritesToStdoutForADash) {
  const Outcome outcome = run_with({"report", file("a.json"), "--output", "-", "--format", "html"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ReportCommand, WritesMarkdownWithTheSameTables) {
  const std::string new_file = file("new.json");
  const Outcome outcome = run_with({"report", new_file, "--baseline", file("base.json"), "--format",
                                    "markdown", "--title", "T", "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("# T\n"));
  EXPECT_THAT(outcome.out, HasSubstr("| Case | baseline ms | new ms | new / baseline | Verdict |\n"
                                     "| --- | ---: | ---: | ---: | --- |\n"
                                     "| a | 2.0000 | 2.0000 | 1.0000 | unclear |\n"));
  EXPECT_THAT(outcome.out, HasSubstr("| a | top\\_left | fp16 | B2 H8/2 S4 D64 | simt | 2.0000 |"));
  EXPECT_THAT(outcome.out, HasSubstr("| device | Card | Card |"));
}

TEST_F(ReportCommand, EscapesWhatMarkdownWouldReadAsMarkup) {
  BenchCase item = sample_case("a|b\nc`<i>");
  const Outcome outcome = run_with({"report", file("a.json", sample_results({item})), "--format", "markdown",
                                    "--title", "x|*y*", "-o", "-"});
  EXPECT_THAT(outcome.out, StartsWith("# x\\|\\*y\\*\n"));
  EXPECT_THAT(outcome.out, HasSubstr("| a\\|b\\\\x0ac\\`\\<i\\> | top\\_left |"));
}

TEST_F(ReportCommand, NothingInTheDataBreaksOutOfThePage) {
  const std::string evil = "</script><script>alert(1)</script><!-- {{script}} \"'&";
  BenchCase item = sample_case(evil);
  item.error = evil;
  BenchResults results = sample_results({item});
  results.context.device = evil;
  const Outcome outcome =
      run_with({"report", file("a.json", results), "--title", evil, "--output", in_folder("page.html")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string page = contents(in_folder("page.html"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<!-- "))));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, HasSubstr("{{script}} &quot;'&amp;</title>"));
  EXPECT_EQ(data_of(page)["cases"][0]["name"], evil);
  EXPECT_EQ(data_of(page)["title"], evil);
}

TEST_F(ReportCommand, TakesBytesThatAreNoUtf8) {
  const Outcome outcome = run_with({"report", file("a.json"), "--title", "\xff", "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(data_of(outcome.out)["title"], "\xef\xbf\xbd");
}

TEST_F(ReportCommand, ShowsTheCasesOfSeveralFilesTogether) {
  BenchResults other = sample_results({sample_case("a"), sample_case("b")});
  other.context.revision = "def5678";
  const Outcome outcome = run_with({"report", file("a.json"), file("b.json", other), "-o", "-"});
  const nlohmann::json data = data_of(outcome.out);
  EXPECT_EQ(data["cases"].size(), 3u);
  EXPECT_EQ(data["runs"][1]["label"], "def5678");
  EXPECT_EQ(data["tables"]["cases"]["rows"][2][1], "def5678");
  EXPECT_TRUE(data["tables"]["comparison"].is_null());
}

TEST_F(ReportCommand, RefusesWhatItCannotRead) {
  const std::string absent = in_folder("absent.json");
  Outcome outcome = run_with({"report", absent, "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("FILES: "), HasSubstr(absent), HasSubstr("No such file")));
  outcome = run_with({"report", file("a.json"), "--baseline", absent, "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--baseline: "));
  put(in_folder("bad.json"), "{}");
  EXPECT_EQ(run_with({"report", in_folder("bad.json"), "-o", "-"}).exit_code, 2);
}

TEST_F(ReportCommand, RefusesWrongUsage) {
  const auto complaint = [](const std::vector<std::string>& words) {
    const Outcome outcome = run_with(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(complaint({"report", "-o", "-"}), HasSubstr("FILES: none given"));
  EXPECT_THAT(complaint({"report", file("a.json")}), HasSubstr("--output: no file given"));
  EXPECT_THAT(complaint({"report", file("a.json"), "--colour", "-o", "-"}),
              HasSubstr("--colour: no such option"));
  EXPECT_THAT(complaint({"report", file("a.json"), "-o", "-", "--format", "pdf"}),
              HasSubstr("--format: 'pdf' is not allowed; one of html, markdown"));
}

TEST_F(ReportCommand, EndsWith6WhereTheReportCannotBeWritten) {
  const Outcome outcome = run_with({"report", file("a.json"), "-o", in_folder("no/page.html")});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--output"), HasSubstr("no/page.html")));
}

TEST_F(ReportCommand, ExplainsItself) {
  const Outcome outcome = run_with({"report", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Usage: fmha_bwd report FILES..."), HasSubstr("--baseline FILE"),
                    HasSubstr("--format"), HasSubstr("--title TEXT"), HasSubstr("--output FILE")));
}

TEST_F(ReportCommand, AnEmptySweepStillMakesAPage) {
  const Outcome outcome = run_with({"report", file("a.json", sample_results({})), "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(data_of(outcome.out)["figures"][0]["text"], "0");
}

}  // namespace
}  // namespace fmha_bwd
