#include "src/report/bench/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/src/report/bench_sample.h"

namespace fmha_bwd {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

BenchReport report_of(std::vector<BenchResults> all) {
  BenchReport report;
  for (BenchResults& results : all) report.runs.push_back({"", "file.json", std::move(results)});
  add_labels(report);
  return report;
}

std::size_t place(const ReportTable& table, const std::string& key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return i;
  }
  ADD_FAILURE() << "no column " << key;
  return 0;
}

TableCell cell(const ReportTable& table, std::size_t row, const std::string& key) {
  return table.rows.at(row).at(place(table, key));
}

std::vector<std::string> keys(const ReportTable& table) {
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns) names.push_back(column.key);
  return names;
}

TEST(BenchTables, ACaseHasTheMedianOfItsRoundsAndWhatFollowsFromIt) {
  const ReportTable table = cases_table(report_of({sample_results({sample_case("a")})}));
  const auto text = [&](const char* key) { return cell(table, 0, key).text; };
  EXPECT_EQ(text("ms"), "2.0000");  // of 1, 2 and 4
  EXPECT_EQ(text("spread"), "1.0000 … 4.0000");
  EXPECT_EQ(text("tflops"), "4.000");   // 8e9 / 2e-3
  EXPECT_EQ(text("dense"), "8.000");    // 16e9 / 2e-3
  EXPECT_EQ(text("gbytes"), "4000.0");  // 8e9 / 2e-3
  EXPECT_EQ(text("peak"), "25.0");      // of 16
  EXPECT_EQ(text("roofline"), "50.0");  // 8e9 bytes at 8e12 a second take 1 ms
  EXPECT_EQ(text("single"), "4.0000");
  EXPECT_EQ(text("graph"), "—");
  EXPECT_EQ(text("clock"), "1500");
  EXPECT_EQ(text("verification"), "full");
  EXPECT_EQ(text("rounds"), "3");
  EXPECT_EQ(text("shape"), "B2 H8/2 S4 D64");
  EXPECT_DOUBLE_EQ(cell(table, 0, "tflops").value.value(), 4.0);
}

TEST(BenchTables, WhatWasNotMeasuredIsADashAndNeverNaN) {
  BenchCase item = sample_case("a");
  item.rounds.clear();
  item.error = "dQ is wrong";
  const ReportTable table = cases_table(report_of({sample_results({item})}));
  for (const char* key :
       {"ms", "spread", "tflops", "dense", "gbytes", "peak", "roofline", "single", "clock"}) {
    EXPECT_EQ(cell(table, 0, key).text, kMissing) << key;
    EXPECT_FALSE(cell(table, 0, key).value) << key;
  }
  EXPECT_EQ(cell(table, 0, "verification").text, "dQ is wrong");
}

TEST(BenchTables, SharesOfAnUnknownPeakAreDashes) {
  BenchCase item = sample_case("a");
  item.peak_flops = 0.0;
  const ReportTable table = cases_table(report_of({sample_results({item})}));
  EXPECT_EQ(cell(table, 0, "peak").text, kMissing);
  EXPECT_EQ(cell(table, 0, "roofline").text, kMissing);
  EXPECT_EQ(cell(table, 0, "tflops").text, "4.000");
}

TEST(BenchTables, RunsHaveAColumnWhereThereAreSeveral) {
  BenchResults other = sample_results({sample_case("a")});
  EXPECT_THAT(keys(cases_table(report_of({other}))), Not(Contains("run")));
  other.context.revision = "def5678";
  const ReportTable table = cases_table(report_of({sample_results({sample_case("a")}), other}));
  EXPECT_EQ(cell(table, 0, "run").text, "abc1234");
  EXPECT_EQ(cell(table, 1, "run").text, "def5678");
}

TEST(BenchReport, LabelsRunsByTheShortestThatTellsThemApart) {
  const BenchResults one = sample_results({});
  BenchResults two = one;
  const auto labels = [&] {
    BenchReport report;
    report.runs = {{"", "one.json", one}, {"", "two.json", two}};
    add_labels(report);
    return std::vector<std::string>{report.runs[0].label, report.runs[1].label};
  };
  EXPECT_THAT(labels(), ElementsAre("Card @ abc1234 (one.json)", "Card @ abc1234 (two.json)"));
  two.context.revision = "def5678";
  EXPECT_THAT(labels(), ElementsAre("abc1234", "def5678"));
  two.context.device = "Other";
  EXPECT_THAT(labels(), ElementsAre("Card", "Other"));
}

TEST(BenchReport, ComparesCasesOfOneNameAndNamesThoseOfOneSideOnly) {
  BenchCase slow = sample_case("both");
  for (Round& round : slow.rounds) round = sample_round(3.0);
  BenchReport report = report_of({sample_results({slow, sample_case("late")})});
  report.baseline = NamedRun{"base", "base.json", sample_results({sample_case("both"), sample_case("gone")})};
  report.compared = beside_baseline(report);
  ASSERT_THAT(report.compared, SizeIs(3));
  EXPECT_EQ(report.compared[0].name, "both");
  EXPECT_DOUBLE_EQ(report.compared[0].ratio, 1.5);
  EXPECT_EQ(report.compared[0].verdict, "unclear");  // three rounds
  EXPECT_EQ(report.compared[1].verdict, "new");
  EXPECT_TRUE(std::isnan(report.compared[1].ratio));
  EXPECT_EQ(report.compared[2].name, "gone");
  EXPECT_EQ(report.compared[2].verdict, "missing");

  ReportTable table = comparison_table(report);
  EXPECT_THAT(keys(table), ElementsAre("name", "base_ms", "new_ms", "ratio", "verdict"));
  EXPECT_EQ(cell(table, 0, "ratio").text, "1.5000");
  EXPECT_EQ(cell(table, 2, "new_ms").text, kMissing);
  report.compared[0].low = 1.4;
  report.compared[0].high = 1.6;
  table = comparison_table(report);
  EXPECT_EQ(cell(table, 0, "low").text, "1.4000");
  EXPECT_EQ(cell(table, 0, "high").text, "1.6000");
}

TEST(BenchReport, WarnsOfEmulationThrottlingAndContextsThatDiffer) {
  EXPECT_THAT(warnings_of(report_of({sample_results({sample_case("a")})})), IsEmpty());
  BenchResults other = sample_results({sample_case("a")});
  other.cases[0].rounds[1].throttled = true;
  EXPECT_THAT(warnings_of(report_of({other})), ElementsAre(HasSubstr("throttled in 1 of 3 rounds")));
  other = sample_results({sample_case("a")});
  other.context.emulated = true;
  EXPECT_THAT(warnings_of(report_of({other})), ElementsAre(HasSubstr("emulated")));
  other = sample_results({sample_case("a")});
  other.context.cache = "flush";
  other.context.driver = "570";
  other.context.host = "elsewhere";  // which does not count
  EXPECT_THAT(warnings_of(report_of({sample_results({}), other})),
              ElementsAre("The runs differ in driver, cache state; their times are not comparable."));
}

TEST(BenchReport, WarnsWhereTheBaselineDiffers) {
  BenchReport report = report_of({sample_results({})});
  report.baseline = NamedRun{"base", "base.json", sample_results({})};
  EXPECT_THAT(warnings_of(report), IsEmpty());
  report.baseline->results.context.arch = "sm_80";
  EXPECT_THAT(warnings_of(report), ElementsAre(HasSubstr("differ in arch;")));
}

}  // namespace
}  // namespace fmha_bwd
