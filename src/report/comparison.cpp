#include "src/report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "src/report/report.h"

namespace fmha_bwd {
namespace {

std::string text_of(const Comparison& comparison, const ComparisonReport& report, bool colour) {
  switch (report.format) {
    case ComparisonFormat::table:
      return report.quiet ? conclusion_of(comparison) + "\n" : comparison_table(comparison, colour);
    case ComparisonFormat::json:
      return comparison_json(comparison);
    case ComparisonFormat::markdown:
      return comparison_markdown(comparison);
    case ComparisonFormat::junit:
      return comparison_junit(comparison);
  }
  return "";
}

}  // namespace

std::string conclusion_of(const Comparison& comparison) {
  const auto wrong = std::count_if(comparison.cases.begin(), comparison.cases.end(),
                                   [](const CaseComparison& item) { return item.wrong_numbers; });
  std::vector<std::string> parts;
  for (const CaseVerdict verdict : kCaseVerdicts) {
    const std::int64_t count = count_of(comparison, verdict);
    if (count == 0) continue;
    parts.push_back(fmt::format("{} {}", count, name_of(verdict)));
    if (verdict == CaseVerdict::unclear && wrong > 0) {
      parts.back() += fmt::format(" ({} with wrong numbers)", wrong);
    }
  }
  const std::size_t cases = comparison.cases.size();
  if (cases == 0) return "no cases";
  return fmt::format("{} of {} {}", fmt::join(parts, ", "), cases, cases == 1 ? "case" : "cases");
}

std::string rule_of(const Comparison& comparison) {
  const CompareSettings& settings = comparison.settings;
  const auto replays = std::count_if(comparison.cases.begin(), comparison.cases.end(),
                                     [](const CaseComparison& item) { return item.replays; });
  return fmt::format(
      "slower: one-sided {} p over {}, by Holm, below {:.4g}, and {:.4g}% interval of the ratio above "
      "{:.6g}{}",
      comparison.in_turn ? "signed-rank" : "Mann-Whitney", comparison.in_turn ? "pairs of rounds" : "rounds",
      settings.alpha, settings.bootstrap.confidence * 100.0, 1.0 + settings.max_slowdown,
      replays == 0 ? "" : fmt::format("; {} of the cases by graph replays", replays));
}

Style style_of(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::slower:
      return Style::bad;
    case CaseVerdict::unclear:
    case CaseVerdict::missing:
    case CaseVerdict::not_in_base:
      return Style::strong;
    case CaseVerdict::faster:
      return Style::good;
    case CaseVerdict::same:
      return Style::plain;
  }
  return Style::plain;
}

double p_of(const CaseComparison& item) {
  return item.verdict == CaseVerdict::faster ? item.effect->evidence.p_faster
                                             : item.effect->evidence.p_slower;
}

void check_writable(const ComparisonReport& report) {
  if (report.output) check_writable(*report.output, "--output");
  if (report.junit) check_writable(*report.junit, "--junit");
  if (report.markdown) check_writable(*report.markdown, "--markdown");
}

ExitCode report_comparison(const Comparison& comparison, const ComparisonReport& report,
                           const Console& console) {
  if (report.junit) write_file(*report.junit, comparison_junit(comparison), "--junit");
  if (report.markdown) write_file(*report.markdown, comparison_markdown(comparison), "--markdown");
  if (report.output) {
    write_file(*report.output, text_of(comparison, report, false));
    if (!report.quiet) {
      console.err << fmt::format("{}; report in {}\n", conclusion_of(comparison), *report.output);
    }
  } else {
    print(console, text_of(comparison, report, console.out_colour));
  }
  return exit_code_of(comparison);
}

}  // namespace fmha_bwd
