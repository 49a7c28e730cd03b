// A comparison as a JUnit XML file, which CI pages show as tests.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/report/comparison.h"
#include "src/report/escape.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

/// The element inside of a testcase: "failure", "error" or "skipped"; empty where it passed.
std::string_view outcome_of(const CaseComparison& item, const CompareSettings& settings) {
  switch (item.verdict) {
    case CaseVerdict::slower:
      return "failure";
    case CaseVerdict::unclear:
      return "error";
    case CaseVerdict::missing:
      return settings.allow_missing ? "skipped" : "error";
    case CaseVerdict::not_in_base:
      return "skipped";
    case CaseVerdict::faster:
    case CaseVerdict::same:
      return "";
  }
  return "";
}

std::string message_of(const CaseComparison& item) {
  if (!item.effect) return item.reason;
  const Ratio& time = item.effect->time;
  const std::string numbers = fmt::format("{:.4f} times the baseline's time ({:.4f} to {:.4f}), p = {:.2g}",
                                          time.value, time.interval.low, time.interval.high, p_of(item));
  return item.reason.empty() ? numbers : fmt::format("{}: {}", item.reason, numbers);
}

std::string testcase(const CaseComparison& item, const CompareSettings& settings) {
  const std::string time = item.latest_ms ? fmt::format(" time=\"{}\"", exact(*item.latest_ms * 1e-3)) : "";
  const std::string head =
      fmt::format("    <testcase classname=\"fmha_bwd.compare\" name=\"{}\"{}", xml_text(item.name), time);
  const std::string_view outcome = outcome_of(item, settings);
  if (outcome.empty()) return head + "/>\n";
  const std::string message = xml_text(message_of(item));
  if (outcome == "skipped")
    return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head, message);
  return fmt::format("{}>\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", head, outcome,
                     item.wrong_numbers ? "wrong numbers" : name_of(item.verdict), message,
                     xml_text("reproduce: " + item.command), outcome);
}

}  // namespace

std::string comparison_junit(const Comparison& comparison) {
  const auto count = [&](std::string_view outcome) {
    return std::count_if(comparison.cases.begin(), comparison.cases.end(), [&](const CaseComparison& item) {
      return outcome_of(item, comparison.settings) == outcome;
    });
  };
  const std::string counts =
      fmt::format("name=\"fmha_bwd compare\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
                  comparison.cases.size(), count("failure"), count("error"), count("skipped"));
  std::string text =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite {}>\n", counts);
  for (const CaseComparison& item : comparison.cases) text += testcase(item, comparison.settings);
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace fmha_bwd
