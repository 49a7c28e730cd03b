#include "src/report/bench/markdown.h"

#include <fmt/format.h>

#include "src/report/bench/tables.h"
#include "src/report/escape.h"

namespace fmha_bwd {
namespace {

std::string text_of(const ReportTable& table) {
  std::string header = "|";
  std::string rule = "|";
  for (const TableColumn& column : table.columns) {
    header += fmt::format(" {} |", markdown_text(column.title));
    rule += column.align == Align::right ? " ---: |" : " --- |";
  }
  std::string text = header + "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const TableCell& cell : row) text += fmt::format(" {} |", markdown_text(cell.text));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string markdown_of(const BenchReport& report) {
  std::string text = fmt::format("# {}\n", markdown_text(report.title));
  for (const std::string& warning : warnings_of(report)) {
    text += fmt::format("\n> **Warning:** {}\n", markdown_text(warning));
  }
  if (report.baseline) text += "\n## Comparison\n\n" + text_of(comparison_table(report));
  text += "\n## Cases\n\n" + text_of(cases_table(report));
  text += "\n## Context\n\n" + text_of(context_table(report));
  return text;
}

}  // namespace fmha_bwd
