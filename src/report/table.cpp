#include "src/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "src/report/columns.h"
#include "src/report/numbers.h"
#include "src/report/sections.h"
#include "src/report/verdict.h"
#include "src/text_width.h"

namespace fmha_bwd {
namespace {

constexpr std::size_t kLabelWidth = 30;
constexpr std::size_t kMasksAbreast = 3;

/// "mean |dQ|", with `before` and `after` around the name, for each gradient of the problem.
void add_headings(std::vector<Heading>& headings, const Problem& problem, const char* before,
                  const char* after) {
  for (const TensorId id : gradients_of(problem)) {
    headings.push_back({fmt::format("{}{}{}", before, name_of(id), after)});
  }
}

using Masks = std::span<const MaskResult>;

/// One table of the stages' numbers, a column for each of `masks`.
std::string stages_of(Masks masks, const Problem& problem, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  std::vector<Heading> headings = {{"stage", Align::left}, {"", Align::left}};
  for (const MaskResult& mask : masks) headings.push_back({label_of(mask.mask)});
  Columns columns(std::move(headings));
  const auto add = [&](const char* stage, std::string quantity, auto text) {
    std::vector<Cell> row = {{stage}, {std::move(quantity)}};
    for (const MaskResult& mask : masks) row.push_back({text(mask)});
    columns.add(std::move(row));
  };
  const Shape d = shape_of(TensorId::d, problem);
  add("dot_do_o", fmt::format("D {}x{}x{}", d.batch, d.head, d.row),
      [&](const MaskResult& mask) { return numbers.extent(mask.d_range); });
  const std::vector<TensorId> ids = gradients_of(problem);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    add(i == 0 ? "dq_dk_dv" : "", std::string(name_of(ids[i])),
        [&](const MaskResult& mask) { return numbers.extent(mask.gradients.at(i).range); });
  }
  add("", "P < 1e-9", [&](const MaskResult& mask) {
    return mask.p_sparsity ? numbers.percent(*mask.p_sparsity, 1) : std::string("—");
  });
  add("", "empty rows", [&](const MaskResult& mask) {
    return fmt::format("{} of {}", mask.counts.empty_rows, mask.counts.rows);
  });
  add("", "empty keys", [&](const MaskResult& mask) {
    return fmt::format("{} of {}", mask.counts.empty_keys, mask.counts.keys);
  });
  return columns.text(style.colour);
}

}  // namespace

std::string label_of(const MaskSpec& mask) {
  const std::string name = name_of(mask);
  return display_width(name) <= kLabelWidth ? name : truncated(name, kLabelWidth - 1) + "…";
}

std::string heading(std::string_view title, std::string_view note, const TableStyle& style) {
  return fmt::format("\n{}{}{}\n", painted(title, Style::strong, style.colour), note.empty() ? "" : "  ",
                     painted(note, Style::dim, style.colour));
}

std::string gradients_section(const RunResult& run, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  std::vector<Heading> headings = {{"mask", Align::left}, {"density"}};
  add_headings(headings, run.problem, "mean |", "|");
  add_headings(headings, run.problem, "Δ", "");
  Columns columns(std::move(headings));
  for (const MaskResult& mask : run.masks) {
    std::vector<Cell> row = {{label_of(mask.mask)}, {numbers.percent(mask.counts.density(), 2)}};
    for (const GradientSummary& gradient : mask.gradients)
      row.push_back({numbers.scientific(gradient.mean_abs)});
    for (const GradientSummary& gradient : mask.gradients) {
      const std::optional<double>& difference = gradient.max_diff_to_no_mask;
      row.push_back(difference ? Cell{numbers.scientific(*difference)} : Cell{"—", Style::dim});
    }
    columns.add(std::move(row));
  }
  return heading("Gradients", "Δ: the largest difference to no_mask", style) + columns.text(style.colour);
}

std::string details_section(const RunResult& run, const TableStyle& style) {
  const std::string sparsity = is_sampled(run) ? "; P < 1e-9 is of the sampled rows" : "";
  std::string text = heading("Backward stages", "ranges are [least, largest]" + sparsity, style);
  const Masks masks = run.masks;
  for (std::size_t first = 0; first < masks.size(); first += kMasksAbreast) {
    if (first > 0) text += "\n";
    text +=
        stages_of(masks.subspan(first, std::min(kMasksAbreast, masks.size() - first)), run.problem, style);
  }
  return text;
}

std::string norms_section(const RunResult& run, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  std::vector<Heading> headings = {{"mask", Align::left}};
  add_headings(headings, run.problem, "‖", "‖₂");
  Columns columns(std::move(headings));
  for (const MaskResult& mask : run.masks) {
    std::vector<Cell> row = {{label_of(mask.mask)}};
    for (const GradientSummary& gradient : mask.gradients)
      row.push_back({numbers.scientific(gradient.l2_norm)});
    columns.add(std::move(row));
  }
  return heading("L2 norms", "", style) + columns.text(style.colour);
}

std::string table_report(const RunResult& run, const TableStyle& style) {
  if (style.quiet) return summary_lines(run, style);
  return header_section(run, style) + gradients_section(run, style) + verification_section(run, style) +
         determinism_section(run, style) + details_section(run, style) + norms_section(run, style) +
         performance_section(run, style) + shared_memory_section(run, style) + pictures_section(run, style) +
         failures_section(run, style) + heading("Summary", "", style) + summary_lines(run, style);
}

}  // namespace fmha_bwd
