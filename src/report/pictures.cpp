// The section of the table report that draws the masks.
#include <fmt/format.h>

#include <algorithm>

#include "base/sequences.h"
#include "src/report/columns.h"
#include "src/report/picture.h"
#include "src/report/sections.h"
#include "src/text_width.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kMostLines = 16;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 4;  // between pictures

/// A picture with its title and what is below it.
struct Panel {
  std::string title;
  std::vector<std::string> lines;

  std::size_t width() const {
    std::size_t widest = display_width(title);
    for (const std::string& line : lines) widest = std::max(widest, display_width(line));
    return widest;
  }
};

std::string plural(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string empty_text(const MaskCounts& counts) {
  return fmt::format("{}, {} empty", plural(counts.empty_rows, "row", "rows"),
                     plural(counts.empty_keys, "key", "keys"));
}

std::string side_by_side(const std::vector<Panel>& panels, bool colour) {
  std::vector<Heading> titles;
  std::size_t height = 0;
  for (const Panel& panel : panels) {
    if (!titles.empty()) titles.push_back({"", Align::left});  // a wider gap
    titles.push_back({panel.title, Align::left});
    height = std::max(height, panel.lines.size());
  }
  Columns columns(titles);
  for (std::size_t line = 0; line < height; ++line) {
    std::vector<Cell> row;
    for (const Panel& panel : panels) {
      if (!row.empty()) row.push_back({""});
      row.push_back({line < panel.lines.size() ? panel.lines[line] : ""});
    }
    columns.add(std::move(row));
  }
  return columns.text(colour);
}

/// As many beside one another as fit into the width.
std::string in_rows(const std::vector<Panel>& panels, const TableStyle& style) {
  std::string text;
  std::vector<Panel> row;
  std::size_t used = kIndent;
  for (const Panel& panel : panels) {
    if (!row.empty() && used + panel.width() > style.width) {
      text += side_by_side(row, style.colour) + "\n";
      row.clear();
      used = kIndent;
    }
    used += panel.width() + kGap;
    row.push_back(panel);
  }
  return text + side_by_side(row, style.colour);
}

std::string cell_text(const MaskPicture& picture) {
  if (picture.queries_a_cell == 1 && picture.keys_a_cell == 1) return "a cell is a pair; █ visible, · masked";
  return fmt::format("a cell is {} x {}; █ all visible, ▒ some, · none",
                     plural(picture.queries_a_cell, "query", "queries"),
                     plural(picture.keys_a_cell, "key", "keys"));
}

}  // namespace

std::string pictures_section(const RunResult& run, const TableStyle& style) {
  const std::vector<Sequence> sequences = sequences_of(run.problem);
  const auto drawn = std::find_if(sequences.begin(), sequences.end(),
                                  [](const Sequence& s) { return s.seqlen_q > 0 && s.seqlen_k > 0; });
  if (drawn == sequences.end()) return heading("Masks", "no sequence has a pair", style);

  const auto columns = static_cast<std::int64_t>((style.width - kIndent + 1) / 2);  // a cell and a space
  std::vector<Panel> panels;
  std::string note;
  for (const MaskResult& result : run.masks) {
    const Mask mask(result.mask.rule(), drawn->seqlen_q, drawn->seqlen_k);
    MaskPicture picture = picture_of(mask, kMostLines, columns);
    note = cell_text(picture);
    picture.lines.push_back(empty_text(count(mask)));
    panels.push_back({label_of(result.mask), std::move(picture.lines)});
  }
  if (panels.empty()) return "";
  if (run.problem.grouped()) {
    note = fmt::format("sequence {} of {}, {} x {}; {}", drawn - sequences.begin() + 1, sequences.size(),
                       drawn->seqlen_q, drawn->seqlen_k, note);
  }
  return heading("Masks", note, style) + in_rows(panels, style);
}

}  // namespace fmha_bwd
