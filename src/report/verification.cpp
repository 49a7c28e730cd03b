// The sections of the table report that judge: verification, failures, summary.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "src/report/columns.h"
#include "src/report/numbers.h"
#include "src/report/sections.h"
#include "src/report/verdict.h"

namespace fmha_bwd {
namespace {

bool is_gradient(TensorId id) {
  constexpr std::array<TensorId, 5> kGradients = {TensorId::dq, TensorId::dk, TensorId::dv, TensorId::dbias,
                                                  TensorId::dsink};
  return std::find(kGradients.begin(), kGradients.end(), id) != kGradients.end();
}

/// A share of the budget beyond a hundred times the limit is only that.
std::string share_text(double share, const Numbers& numbers) {
  if (!numbers.full && share > 100.0) return ">10000%";
  return numbers.percent(share, 0);
}

Cell verdict_cell(bool passed) { return passed ? Cell{"passed", Style::good} : Cell{"FAILED", Style::bad}; }

std::vector<Cell> verdict_row(const MaskResult& mask, const TensorVerdict& verdict, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  const std::optional<double> relative = verdict.relative_l2();
  std::vector<Cell> row = {{label_of(mask.mask)},
                           {std::string(name_of(verdict.id))},
                           verdict_cell(verdict.passed),
                           {numbers.scientific(verdict.max_diff)},
                           relative ? Cell{numbers.scientific(*relative)} : Cell{"—", Style::dim},
                           {share_text(verdict.budget_share(), numbers)},
                           {fmt::format("{} of {}", verdict.wrong, verdict.compared),
                            verdict.wrong > 0 ? Style::bad : Style::plain}};
  if (style.verbose) {
    for (const double x :
         {verdict.max_diff_budget, verdict.l2_diff, verdict.l2_budget, verdict.reference_l2}) {
      row.push_back({numbers.scientific(x)});
    }
    row.push_back({verdict.guard_damaged ? "damaged" : "intact"});
  }
  return row;
}

std::string worst_elements(const TensorVerdict& verdict, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  Columns columns({{"  (b, h, row, column)", Align::left}, {"device"}, {"reference"}, {"difference"}});
  for (const Mismatch& mismatch : verdict.worst) {
    const Shape& at = mismatch.index;
    columns.add({{fmt::format("  ({}, {}, {}, {})", at.batch, at.head, at.row, at.column)},
                 {numbers.scientific(mismatch.actual)},
                 {numbers.scientific(mismatch.expected)},
                 {numbers.scientific(std::abs(mismatch.actual - mismatch.expected))}});
  }
  return verdict.worst.empty() ? "" : columns.text(style.colour);
}

/// One of a mask's two lists of verdicts.
using Opinion = std::vector<TensorVerdict> MaskResult::*;

constexpr const char* kThirdOpinion = " against the device's reference";

/// A line for each tensor of a mask whose passing says nothing.
std::string inconclusive_lines(const MaskResult& mask, Opinion opinion) {
  std::string lines;
  for (const TensorVerdict& verdict : mask.*opinion) {
    if (!verdict.passed || verdict.conclusive()) continue;
    lines +=
        fmt::format("  {} {}: inconclusive, rounding may be as large as the tensor; zeros would pass too\n",
                    label_of(mask.mask), name_of(verdict.id));
  }
  return lines;
}

/// "dK 12 wrong".
std::string failure_in_short(const TensorVerdict& verdict) {
  const std::string_view name = name_of(verdict.id);
  if (verdict.wrong > 0) return fmt::format("{} {} wrong", name, verdict.wrong);
  if (verdict.wrong_rows > 0) return fmt::format("{} {} rows wrong", name, verdict.wrong_rows);
  if (verdict.unwritten > 0) return fmt::format("{} {} NaNs", name, verdict.unwritten);
  return fmt::format("{} {}", name,
                     verdict.guard_damaged ? "written past its end or into its padding" : "off by L2 norm");
}

/// "dQ 41%, dK 35% of the error budget; dV inconclusive", or what failed.
std::string judgement(const MaskResult& mask) {
  std::vector<std::string> failures;
  std::vector<std::string> shares;
  std::vector<std::string_view> inconclusive;
  for (const TensorVerdict& verdict : mask.verdicts) {
    if (!verdict.passed) failures.push_back(failure_in_short(verdict));
    if (!is_gradient(verdict.id)) continue;
    const std::string_view name = name_of(verdict.id);
    if (verdict.conclusive()) {
      shares.push_back(fmt::format("{} {}", name, share_text(verdict.budget_share(), Numbers{})));
    } else {
      inconclusive.push_back(name);
    }
  }
  for (const TensorVerdict& verdict : mask.third_opinion) {
    if (!verdict.passed) failures.push_back(failure_in_short(verdict) + kThirdOpinion);
  }
  const bool differs = mask.determinism && mask.determinism->difference;
  const bool required = differs && mask.determinism->required;
  if (required) failures.push_back(difference_text(*mask.determinism->difference));
  if (!failures.empty()) return fmt::format("{}", fmt::join(failures, ", "));
  std::vector<std::string> parts;
  if (!shares.empty()) parts.push_back(fmt::format("{} of the error budget", fmt::join(shares, ", ")));
  if (!inconclusive.empty()) parts.push_back(fmt::format("{} inconclusive", fmt::join(inconclusive, ", ")));
  if (differs) parts.emplace_back("runs differ, as is allowed");
  return fmt::format("{}", fmt::join(parts, "; "));
}

Cell verdict_cell(Verdict verdict) {
  if (verdict == Verdict::not_verified) return {"not verified"};
  return verdict_cell(verdict == Verdict::passed);
}

std::string speed(const RunResult& run, const MaskResult& mask) {
  if (!mask.timing) return "";
  const Numbers numbers;
  const std::string ms = numbers.milliseconds(mask.timing->total_ms) + " ms";
  return run.emulated ? ms + " emulated"
                      : fmt::format("{}, {} TFLOPS", ms, numbers.rate(mask.timing->tflops));
}

/// A table of verdicts against one reference, and whether it shows all of them.
struct Block {
  std::string text;  // empty where there is no verdict
  bool hides = false;
};

Block block_of(const RunResult& run, Opinion opinion, const TableStyle& style) {
  std::vector<Heading> headings = {{"mask", Align::left}, {"tensor", Align::left}, {"verdict", Align::left},
                                   {"max diff"},          {"relative L2"},         {"of budget"},
                                   {"wrong elements"}};
  if (style.verbose) {
    for (const char* title : {"max diff budget", "L2 diff", "L2 budget", "reference L2", "guard"}) {
      headings.push_back({title});
    }
  }
  Columns columns(headings);
  Block block;
  bool shown = false;
  std::string remarks;
  for (const MaskResult& mask : run.masks) {
    for (const TensorVerdict& verdict : mask.*opinion) {
      const bool hide = !style.verbose && verdict.passed && !is_gradient(verdict.id);
      if (!hide) columns.add(verdict_row(mask, verdict, style));
      (hide ? block.hides : shown) = true;
    }
    remarks += inconclusive_lines(mask, opinion);
  }
  if (shown) block.text = columns.text(style.colour) + remarks;
  return block;
}

}  // namespace

std::string verification_section(const RunResult& run, const TableStyle& style) {
  const auto note = [](std::string reference, const Block& block) {
    return reference + (block.hides ? "; the tensors not shown passed" : "");
  };
  const Block exact = block_of(run, &MaskResult::verdicts, style);
  if (exact.text.empty()) {
    return heading("Verification", "none (--verify none): these numbers are unchecked", style);
  }
  const char* reference =
      is_sampled(run) ? "against the fp64 reference, on a sample of rows" : "against the fp64 reference";
  std::string text =
      heading("Verification", note(reference, exact), style) + exact.text + sample_lines(run, style);
  const Block device = block_of(run, &MaskResult::third_opinion, style);
  if (device.text.empty()) return text;
  return text +
         fmt::format("\n  {}\n", painted(note("against the device's fp32 reference (kernel plain)", device),
                                         Style::dim, style.colour)) +
         device.text;
}

std::string failures_section(const RunResult& run, const TableStyle& style) {
  const Numbers numbers{style.verbose};
  std::string text;
  for (const MaskResult& mask : run.masks) {
    if (mask.passed()) continue;
    for (const Opinion opinion : {&MaskResult::verdicts, &MaskResult::third_opinion}) {
      const char* whose = opinion == &MaskResult::verdicts ? "" : kThirdOpinion;
      for (const TensorVerdict& verdict : mask.*opinion) {
        if (verdict.passed) continue;
        const std::string name = fmt::format("{} {}{}", label_of(mask.mask), name_of(verdict.id), whose);
        text += fmt::format("  {}: {}\n{}", painted(name, Style::bad, style.colour),
                            failure_of(verdict, numbers), worst_elements(verdict, style));
      }
    }
    if (mask.determinism && mask.determinism->required && mask.determinism->difference) {
      text += fmt::format("  {}: {}\n", painted(label_of(mask.mask), Style::bad, style.colour),
                          difference_text(*mask.determinism->difference));
    }
    text += fmt::format("  reproduce: {}\n", painted(mask.command, Style::strong, style.colour));
  }
  return text.empty() ? "" : heading("Failures", "", style) + text;
}

std::string summary_lines(const RunResult& run, const TableStyle& style) {
  Columns columns({{"", Align::left}, {"", Align::left}, {"", Align::left}, {"", Align::left}});
  for (const MaskResult& mask : run.masks) {
    columns.add({{label_of(mask.mask)},
                 verdict_cell(verdict_of(mask)),
                 {judgement(mask)},
                 {speed(run, mask), Style::dim}});
  }
  const Verdict verdict = verdict_of(run);
  const Style style_of_verdict = verdict == Verdict::passed   ? Style::good
                                 : verdict == Verdict::failed ? Style::bad
                                                              : Style::strong;
  return columns.text(style.colour) + painted(conclusion(run), style_of_verdict, style.colour) + "\n";
}

}  // namespace fmha_bwd
