#include "src/report/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/src/report/sample_run.h"

namespace fmha_bwd {
namespace {

using testing::StartsWith;

/// The records of a CSV text, as RFC 4180 has them.
std::vector<std::vector<std::string>> records(const std::string& text) {
  std::vector<std::vector<std::string>> result;
  std::vector<std::string> record;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ',' || c == '\n')) {
      record.push_back(field);
      field.clear();
      if (c == '\n') {
        result.push_back(record);
        record.clear();
      }
    } else {
      field += c;
    }
  }
  return result;
}

std::map<std::string, std::string> row(const RunResult& run, std::size_t mask) {
  const auto table = records(csv_report(run));
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i < table.at(0).size(); ++i) fields[table[0][i]] = table.at(1 + mask).at(i);
  return fields;
}

TEST(CsvReport, HasAHeaderAndOneRowAMaskOfTheSameLength) {
  for (const RunResult& run : {sample_run(), failed_run(), unverified_run()}) {
    const auto table = records(csv_report(run));
    ASSERT_EQ(table.size(), 4U);
    for (const auto& record : table) EXPECT_EQ(record.size(), table[0].size());
  }
}

TEST(CsvReport, HasTheSameColumnsForEveryRun) {
  const auto header = [](const RunResult& run) { return records(csv_report(run)).at(0); };
  EXPECT_EQ(header(sample_run()), header(unverified_run()));
  EXPECT_EQ(header(sample_run()), header(RunResult{}));
  EXPECT_THAT(csv_report(sample_run()),
              StartsWith("version,platform,device_index,device_name,arch,emulated,mode,batch,nhead_q,"));
}

TEST(CsvReport, HoldsTheNumbersOfTheRun) {
  auto fields = row(sample_run(), 2);
  EXPECT_EQ(fields["mask"], "bottom_right");
  EXPECT_EQ(fields["verdict"], "passed");
  EXPECT_EQ(fields["emulated"], "false");
  EXPECT_EQ(fields["scale"], "0.5");
  EXPECT_EQ(fields["layout"], "bhsd");
  EXPECT_EQ(fields["standard_deviation"], "0.1");
  EXPECT_EQ(fields["input_checksum"], "0123456789abcdef");
  EXPECT_EQ(fields["density"], "0.5");
  EXPECT_EQ(fields["empty_rows"], "1");
  EXPECT_EQ(fields["dk_min"], "-0.25");
  EXPECT_EQ(fields["dv_max_diff_to_no_mask"], "0.0625");
  EXPECT_EQ(fields["d_max"], "0.125");
  EXPECT_EQ(fields["lse_verdict"], "passed");
  EXPECT_EQ(fields["dv_max_diff"], "3e-05");
  EXPECT_EQ(fields["dv_budget_share"], "0.5");
  EXPECT_EQ(fields["samples"], "20");
  EXPECT_EQ(fields["total_ms"], "12.506");
  EXPECT_EQ(fields["command"], "fmha_bwd --mask bottom_right --batch 1 --nhead 2");
}

TEST(CsvReport, HasTheSumOfBankConflictsWhereTheyWereCounted) {
  EXPECT_EQ(row(counted_run(), 0)["bank_conflicts"], "670");
  EXPECT_EQ(row(counted_run(), 1)["bank_conflicts"], "0");
  EXPECT_EQ(row(sample_run(), 0)["bank_conflicts"], "");
}

TEST(CsvReport, HasColumnsForEveryGradientAndFeature) {
  RunResult run = full_run();
  make_grouped(run.problem, {4, 0}, {3, 2});
  run.masks.front().determinism = Determinism{3, false, Difference{}};
  EXPECT_EQ(records(csv_report(run)).at(0), records(csv_report(sample_run())).at(0));
  auto fields = row(run, 0);
  EXPECT_EQ(fields["mode"], "group");
  EXPECT_EQ(fields["seqlens_q"], "4 0");
  EXPECT_EQ(fields["padded_q"], "");
  EXPECT_EQ(fields["bias"], "head");
  EXPECT_EQ(fields["dropout"], "0.25");
  EXPECT_EQ(fields["kernel"], "simt");
  EXPECT_EQ(fields["dbias_l2_norm"], "0.5");
  EXPECT_EQ(fields["dsink_verdict"], "passed");
  EXPECT_EQ(fields["determinism_runs"], "3");
  EXPECT_EQ(fields["runs_differ"], "true");
  auto plain = row(sample_run(), 0);
  EXPECT_EQ(plain["dbias_l2_norm"], "");
  EXPECT_EQ(plain["dsink_verdict"], "");
  EXPECT_EQ(plain["determinism_runs"], "");
  EXPECT_EQ(plain["runs_differ"], "");
}

TEST(CsvReport, SaysHowItWasVerified) {
  auto full = row(sample_run(), 0);
  EXPECT_EQ(full["verification"], "full");
  EXPECT_EQ(full["sampled_rows"], "");
  EXPECT_EQ(full["third_opinion"], "");
  EXPECT_EQ(full["dv_compared"], "48");
  auto sampled = row(sampled_run(), 1);
  EXPECT_EQ(sampled["verification"], "sample");
  EXPECT_EQ(sampled["sampled_rows"], "16384");
  EXPECT_EQ(sampled["dv_elements"], "48");
  EXPECT_EQ(sampled["dv_compared"], "24");
  EXPECT_EQ(row(unverified_run(), 0)["verification"], "none");
  EXPECT_EQ(row(third_opinion_run(), 0)["third_opinion"], "failed");
  EXPECT_EQ(row(third_opinion_run(), 0)["dv_verdict"], "passed");
  EXPECT_EQ(row(third_opinion_run(), 1)["third_opinion"], "passed");
}

TEST(CsvReport, QuotesFieldsWithCommasAndQuotes) {
  EXPECT_THAT(csv_report(sample_run()), testing::HasSubstr(",\"A \"\"fine\"\" GPU, 80 GB\",sm_90,"));
  EXPECT_EQ(row(sample_run(), 0)["device_name"], "A \"fine\" GPU, 80 GB");
  RunResult run = sample_run();
  run.device_name = "two\nlines";
  EXPECT_EQ(row(run, 0)["device_name"], "two\nlines");
}

TEST(CsvReport, LeavesEmptyWhatWasNotComputed) {
  auto unverified = row(unverified_run(), 0);
  EXPECT_EQ(unverified["verdict"], "not_verified");
  EXPECT_EQ(unverified["p_sparsity"], "");
  EXPECT_EQ(unverified["dq_verdict"], "");
  EXPECT_EQ(unverified["dq_max_diff_to_no_mask"], "");
  auto failed = row(failed_run(), 1);
  EXPECT_EQ(failed["dk_verdict"], "failed");
  EXPECT_EQ(failed["dk_max_diff"], "nan");
  EXPECT_EQ(failed["dk_wrong"], "2");
  EXPECT_EQ(failed["total_ms"], "");
}

}  // namespace
}  // namespace fmha_bwd
