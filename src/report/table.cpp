#include "src/report/table.h"

#include <fmt/format.h>

#include "src/report/columns.h"
#include "src/report/numbers.h"
#include "src/report/picture.h"
#include "src/report/sections.h"
#include "src/text_width.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kPictureSize = 8;
constexpr std::size_t kValueWidth = 84;  // of a line of the header, so that it ends by column 100

std::string problem_text(const Problem& p) {
  const std::string layout = p.layout == Layout::bhsd ? "" : fmt::format(" {}", name_of(p.layout));
  return fmt::format("B={} H={} Hk={} Sq={} Sk={} D={} Dv={}  {}{}  scale={}", p.batch, p.nhead_q, p.nhead_k,
                     p.seqlen_q, p.seqlen_k, p.hdim_q, p.hdim_v, name_of(p.dtype), layout, exact(p.scale));
}

/// "mask" and then the names of the run's masks.
std::vector<Heading> headings_of_masks(const RunResult& run, std::vector<Heading> first) {
  for (const MaskResult& mask : run.masks) first.push_back({std::string(name_of(mask.mask))});
  return first;
}

}  // namespace

std::string heading(std::string_view title, std::string_view note, const TableStyle& style) {
  return fmt::format("\n{}{}{}\n", painted(title, Style::strong, style.colour), note.empty() ? "" : "  ",
                     painted(note, Style::dim, style.colour));
}

std::string header_section(const RunResult& run, const TableStyle& style) {
  Columns columns({{"", Align::left}, {"", Align::left}});
  const auto add = [&columns](std::string name, std::string value, const std::string& reason) {
    const std::string both = fmt::format("{} ({})", value, reason);
    const bool one_line = !reason.empty() && display_width(both) <= kValueWidth;
    columns.add({{std::move(name), Style::dim}, {one_line ? both : std::move(value)}});
    if (!reason.empty() && !one_line) columns.add({{""}, {reason}});
  };
  add("problem", problem_text(run.problem), "");
  add("device", fmt::format("{}:{}  {}", run.platform, run.device_index, run.device_name), run.device_reason);
  add("architecture", run.arch, "");
  add("kernel", run.kernel, run.kernel_reason);
  add("inputs",
      fmt::format("normal  std={}  seed={}  checksum {:016x}", exact(run.fill.standard_deviation),
                  run.fill.seed, run.input_checksum),
      "");
  return painted(fmt::format("fmha_bwd {}", run.version), Style::strong, style.colour) + "\n" +
         columns.text(style.colour);
}

std::string gradients_section(const RunResult& run, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  Columns columns({{"mask", Align::left},
                   {"density"},
                   {"mean |dQ|"},
                   {"mean |dK|"},
                   {"mean |dV|"},
                   {"ΔdQ"},
                   {"ΔdK"},
                   {"ΔdV"}});
  for (const MaskResult& mask : run.masks) {
    std::vector<Cell> row = {{std::string(name_of(mask.mask))}, {numbers.percent(mask.counts.density(), 2)}};
    for (const GradientSummary& gradient : mask.gradients)
      row.push_back({numbers.scientific(gradient.mean_abs)});
    for (const GradientSummary& gradient : mask.gradients) {
      const bool itself = mask.mask == MaskKind::no_mask;
      const std::optional<double> difference = itself ? std::nullopt : gradient.max_diff_to_no_mask;
      row.push_back(difference ? Cell{numbers.scientific(*difference)} : Cell{"—", Style::dim});
    }
    columns.add(std::move(row));
  }
  return heading("Gradients", "Δ: the largest difference to no_mask", style) + columns.text(style.colour);
}

std::string details_section(const RunResult& run, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  Columns columns(headings_of_masks(run, {{"stage", Align::left}, {"", Align::left}}));
  const auto add = [&](const char* stage, std::string quantity, auto text) {
    std::vector<Cell> row = {{stage}, {std::move(quantity)}};
    for (const MaskResult& mask : run.masks) row.push_back({text(mask)});
    columns.add(std::move(row));
  };
  const Problem& p = run.problem;
  add("dot_do_o", fmt::format("D {}x{}x{}", p.batch, p.nhead_q, p.seqlen_q),
      [&](const MaskResult& mask) { return numbers.extent(mask.d_range); });
  for (std::size_t i = 0; i < kGradients.size(); ++i) {
    add(i == 0 ? "dq_dk_dv" : "", std::string(name_of(kGradients[i])),
        [&](const MaskResult& mask) { return numbers.extent(mask.gradients[i].range); });
  }
  add("", "P < 1e-9", [&](const MaskResult& mask) {
    return mask.p_sparsity ? numbers.percent(*mask.p_sparsity, 1) : std::string("—");
  });
  add("", "empty rows",
      [&](const MaskResult& mask) { return fmt::format("{} of {}", mask.counts.empty_rows, p.seqlen_q); });
  add("", "empty keys",
      [&](const MaskResult& mask) { return fmt::format("{} of {}", mask.counts.empty_keys, p.seqlen_k); });
  return heading("Backward stages", "ranges are [least, largest]", style) + columns.text(style.colour);
}

std::string norms_section(const RunResult& run, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  Columns columns({{"mask", Align::left}, {"‖dQ‖₂"}, {"‖dK‖₂"}, {"‖dV‖₂"}});
  for (const MaskResult& mask : run.masks) {
    std::vector<Cell> row = {{std::string(name_of(mask.mask))}};
    for (const GradientSummary& gradient : mask.gradients)
      row.push_back({numbers.scientific(gradient.l2_norm)});
    columns.add(std::move(row));
  }
  return heading("L2 norms", "", style) + columns.text(style.colour);
}

std::string pictures_section(const RunResult& run, const TableStyle& style) {
  std::vector<Heading> titles;
  std::vector<std::vector<Cell>> lines;
  for (const MaskResult& result : run.masks) {
    const Mask mask(result.mask, run.problem.seqlen_q, run.problem.seqlen_k);
    const std::vector<std::string> picture = mask_picture(mask, kPictureSize, kPictureSize);
    titles.push_back({std::string(name_of(result.mask)), Align::left});
    titles.push_back({"", Align::left});  // a wider gap
    lines.resize(picture.size());
    for (std::size_t i = 0; i < picture.size(); ++i) lines[i].insert(lines[i].end(), {{picture[i]}, {""}});
  }
  if (!titles.empty()) titles.pop_back();
  Columns columns(titles);
  for (std::vector<Cell>& line : lines) {
    line.pop_back();
    columns.add(std::move(line));
  }
  return heading("Masks", "the first 8 queries and keys; █ visible, · masked", style) +
         columns.text(style.colour);
}

std::string table_report(const RunResult& run, const TableStyle& style) {
  if (style.quiet) return summary_lines(run, style);
  return header_section(run, style) + gradients_section(run, style) + verification_section(run, style) +
         details_section(run, style) + norms_section(run, style) + performance_section(run, style) +
         pictures_section(run, style) + failures_section(run, style) + heading("Summary", "", style) +
         summary_lines(run, style);
}

}  // namespace fmha_bwd
