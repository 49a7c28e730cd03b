// A comparison as a table for people.
#include <fmt/format.h>

#include "src/report/columns.h"
#include "src/report/comparison.h"
#include "src/report/escape.h"
#include "src/report/numbers.h"

namespace fmha_bwd {
namespace {

std::string milliseconds(const std::optional<double>& ms) { return ms ? Numbers{}.milliseconds(*ms) : "-"; }

std::vector<Cell> row_of(const CaseComparison& item) {
  std::vector<Cell> row = {
      {one_line(item.name)}, {milliseconds(item.base_ms)}, {milliseconds(item.latest_ms)}};
  if (item.effect) {
    row.push_back({fmt::format("{:.4f}", item.effect->time.value)});
    row.push_back(
        {fmt::format("{:.4f}..{:.4f}", item.effect->time.interval.low, item.effect->time.interval.high)});
    row.push_back({fmt::format("{:.2g}", p_of(item))});
    row.push_back({item.effect->cycles ? fmt::format("{:.4f}", item.effect->cycles->value) : "-"});
  } else {
    row.insert(row.end(), {{"-"}, {"-"}, {"-"}, {"-"}});
  }
  row.push_back({std::string(name_of(item.verdict)), style_of(item.verdict)});
  row.push_back({one_line(item.reason)});
  return row;
}

}  // namespace

std::string comparison_table(const Comparison& comparison, bool colour) {
  Columns columns({{"case", Align::left},
                   {"base ms"},
                   {"new ms"},
                   {"ratio"},
                   {"interval"},
                   {"p"},
                   {"cycles"},
                   {"verdict", Align::left},
                   {"reason", Align::left}});
  for (const CaseComparison& item : comparison.cases) columns.add(row_of(item));
  return columns.text(colour) + painted("  " + rule_of(comparison), Style::dim, colour) + "\n" +
         conclusion_of(comparison) + "\n";
}

}  // namespace fmha_bwd
