// Text in aligned columns.
#pragma once

#include <string>
#include <vector>

#include "src/report/style.h"

namespace fmha_bwd {

enum class Align { left, right };

struct Cell {
  std::string text;
  Style style = Style::plain;
};

struct Heading {
  std::string text;
  Align align = Align::right;
};

/// Rows under headings; a column is as wide as its widest cell. Columns stand two spaces apart.
class Columns {
 public:
  explicit Columns(std::vector<Heading> headings) : headings_(std::move(headings)) {}

  /// A row; cells at its end may be missing. Throws std::invalid_argument where there are more than headings.
  void add(std::vector<Cell> row);

  /// The headings, a rule and the rows, indented by two spaces, each line ended, without trailing spaces.
  /// Without headings' texts neither they nor the rule are shown.
  std::string text(bool colour) const;

 private:
  std::vector<Heading> headings_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace fmha_bwd
