#include "src/report/bench/markdown.h"

#include <fmt/format.h>

#include <string_view>

#include "src/report/bench/tables.h"

namespace fmha_bwd {
namespace {

/// On one line, with a backslash before what Markdown would read as markup.
std::string escaped(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      line += ' ';
      continue;
    }
    if (std::string_view("\\`*[]<>|&#~").find(c) != std::string_view::npos) line += '\\';
    line += c;
  }
  return line;
}

std::string text_of(const ReportTable& table) {
  std::string header = "|";
  std::string rule = "|";
  for (const TableColumn& column : table.columns) {
    header += fmt::format(" {} |", escaped(column.title));
    rule += column.align == Align::right ? " ---: |" : " --- |";
  }
  std::string text = header + "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const TableCell& cell : row) text += fmt::format(" {} |", escaped(cell.text));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string markdown_of(const BenchReport& report) {
  std::string text = fmt::format("# {}\n", escaped(report.title));
  for (const std::string& warning : warnings_of(report)) {
    text += fmt::format("\n> **Warning:** {}\n", escaped(warning));
  }
  if (report.baseline) text += "\n## Comparison\n\n" + text_of(comparison_table(report));
  text += "\n## Cases\n\n" + text_of(cases_table(report));
  text += "\n## Context\n\n" + text_of(context_table(report));
  return text;
}

}  // namespace fmha_bwd
