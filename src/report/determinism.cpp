// The section of the table report about repeated runs.
#include <fmt/format.h>

#include <algorithm>

#include "src/report/columns.h"
#include "src/report/numbers.h"
#include "src/report/sections.h"

namespace fmha_bwd {
namespace {

std::vector<Cell> row_of(const MaskResult& mask, const TableStyle& style) {
  const Determinism& runs = *mask.determinism;
  if (!runs.difference) return {{label_of(mask.mask)}, {"same bits", Style::good}};
  const Numbers numbers{style.verbose};
  const Difference& difference = *runs.difference;
  const Shape& at = difference.index;
  return {{label_of(mask.mask)},
          runs.required ? Cell{"DIFFER", Style::bad} : Cell{"differ", Style::strong},
          {std::string(name_of(difference.id))},
          {fmt::format("{}", difference.run + 1)},
          {fmt::format("{}", difference.elements)},
          {fmt::format("({}, {}, {}, {})", at.batch, at.head, at.row, at.column)},
          {numbers.scientific(difference.first)},
          {numbers.scientific(difference.other)}};
}

}  // namespace

std::string determinism_section(const RunResult& run, const TableStyle& style) {
  Columns columns({{"mask", Align::left},
                   {"runs", Align::left},
                   {"tensor", Align::left},
                   {"run"},
                   {"elements"},
                   {"first at (b, h, row, column)"},
                   {"run 1"},
                   {"that run"}});
  Columns equal({{"mask", Align::left}, {"runs", Align::left}});
  std::int64_t passes = 0;
  bool any_differs = false;
  for (const MaskResult& mask : run.masks) {
    if (!mask.determinism) continue;
    passes = mask.determinism->runs;
    any_differs = any_differs || mask.determinism->difference.has_value();
    std::vector<Cell> row = row_of(mask, style);
    if (!mask.determinism->difference) equal.add(row);
    columns.add(std::move(row));
  }
  if (passes == 0) return "";
  std::string text = heading(
      "Determinism", fmt::format("the gradients' bits in {} passes on the same inputs", passes), style);
  text += any_differs ? columns.text(style.colour) : equal.text(style.colour);
  if (any_differs && !run.problem.deterministic) {
    text +=
        "  runs differ; the problem did not ask for the same bits (--deterministic), so that is allowed\n";
  }
  return text;
}

}  // namespace fmha_bwd
