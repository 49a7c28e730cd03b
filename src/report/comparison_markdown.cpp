// A comparison for a CI's summary page.
#include <fmt/format.h>

#include <algorithm>

#include "src/report/comparison.h"
#include "src/report/escape.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

std::string milliseconds(const std::optional<double>& ms) { return ms ? Numbers{}.milliseconds(*ms) : ""; }

std::string row_of(const CaseComparison& item) {
  std::string ratio = " |  | ";
  if (const auto& effect = item.effect) {
    ratio = fmt::format("{:.4f} | {:.4f} to {:.4f} | {:.2g}", effect->time.value, effect->time.interval.low,
                        effect->time.interval.high, p_of(item));
  }
  const char* emphasis = style_of(item.verdict) == Style::plain ? "" : "**";
  return fmt::format("| {} | {} | {} | {} | {}{}{} | {} |\n", markdown_code(item.name),
                     milliseconds(item.base_ms), milliseconds(item.latest_ms), ratio, emphasis,
                     name_of(item.verdict), emphasis, markdown_text(item.reason));
}

/// Wrong numbers before anything, then by verdict, then the larger ratio.
bool is_worse(const CaseComparison& one, const CaseComparison& other) {
  if (one.wrong_numbers != other.wrong_numbers) return one.wrong_numbers;
  if (one.verdict != other.verdict) return one.verdict < other.verdict;
  if (one.effect && other.effect) return one.effect->time.value > other.effect->time.value;
  return one.effect.has_value() && !other.effect.has_value();
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
  std::vector<CaseComparison> cases = comparison.cases;
  std::stable_sort(cases.begin(), cases.end(), is_worse);
  std::string text = fmt::format("### fmha_bwd: {}\n\n", conclusion_of(comparison));
  text += "| case | base ms | new ms | ratio | interval | p | verdict | reason |\n";
  text += "|:--|--:|--:|--:|--:|--:|:--|:--|\n";
  for (const CaseComparison& item : cases) text += row_of(item);
  return text + fmt::format("\n{}\n", markdown_text(rule_of(comparison)));
}

}  // namespace fmha_bwd
