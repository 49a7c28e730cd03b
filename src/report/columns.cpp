#include "src/report/columns.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "src/text_width.h"

namespace fmha_bwd {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kGap = "  ";

}  // namespace

void Columns::add(std::vector<Cell> row) {
  if (row.size() > headings_.size()) throw std::invalid_argument("Columns: more cells than headings");
  rows_.push_back(std::move(row));
}

std::string Columns::text(bool colour) const {
  std::vector<std::size_t> widths;
  std::vector<Cell> titles;
  for (const Heading& heading : headings_) {
    widths.push_back(display_width(heading.text));
    titles.push_back({heading.text, Style::dim});
  }
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  }

  const auto line = [&](const std::vector<Cell>& row) {
    std::string result;
    std::string spaces(kIndent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i].text), ' ');
      if (headings_[i].align == Align::right) spaces += padding;
      if (!row[i].text.empty()) {
        result += std::exchange(spaces, "") + painted(row[i].text, row[i].style, colour);
      }
      if (headings_[i].align == Align::left) spaces += padding;
      spaces += kGap;
    }
    return result + "\n";
  };

  std::string result;
  if (std::any_of(titles.begin(), titles.end(), [](const Cell& title) { return !title.text.empty(); })) {
    std::string rule;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool is_remark = i + 1 == widths.size() && titles[i].text.empty();
      const std::size_t width = is_remark ? 0 : widths[i];
      if (i > 0 && width > 0) rule += "──";
      for (std::size_t column = 0; column < width; ++column) rule += "─";
    }
    result += line(titles) + std::string(kIndent) + painted(rule, Style::dim, colour) + "\n";
  }
  for (const std::vector<Cell>& row : rows_) result += line(row);
  return result;
}

}  // namespace fmha_bwd
