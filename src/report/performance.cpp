// The section of the table report about speed.
#include <fmt/format.h>

#include <algorithm>

#include "src/report/columns.h"
#include "src/report/numbers.h"
#include "src/report/sections.h"
#include "src/report/verdict.h"

namespace fmha_bwd {
namespace {

std::string samples_text(const Timing& timing) {
  std::string text = "milliseconds";
  text += timing.samples == 1 ? " of one pass" : fmt::format(", the median of {} passes", timing.samples);
  if (timing.warmup > 0) text += fmt::format(" after {} for warm-up", timing.warmup);
  return text;
}

/// How the masks were timed, where that is the same for all.
std::string note(const RunResult& run) {
  std::string common;
  for (const MaskResult& mask : run.masks) {
    if (!mask.timing) continue;
    const std::string text = samples_text(*mask.timing);
    if (!common.empty() && text != common) return "milliseconds, medians";
    common = text;
  }
  return common;
}

std::vector<Cell> timing_row(const MaskResult& mask, const Numbers& numbers) {
  std::vector<Cell> row = {{label_of(mask.mask)}};
  if (!mask.timing) {
    for (int i = 0; i < 8; ++i) row.push_back({"—", Style::dim});
    return row;
  }
  const Timing& timing = *mask.timing;
  for (const double ms : {timing.zero_dq_ms, timing.dot_do_o_ms, timing.dq_dk_dv_ms, timing.convert_dq_ms}) {
    row.push_back({numbers.milliseconds(ms)});
  }
  row.push_back({numbers.milliseconds(timing.total_ms), Style::strong});
  row.push_back({fmt::format("{}..{}", numbers.milliseconds(timing.total_min_ms),
                             numbers.milliseconds(timing.total_max_ms))});
  row.push_back({numbers.rate(timing.tflops), Style::strong});
  row.push_back({numbers.rate(timing.tflops_dense)});
  return row;
}

}  // namespace

std::string performance_section(const RunResult& run, const TableStyle& style) {
  Columns columns({{"mask", Align::left},
                   {"zero dQ"},
                   {"dot_do_o"},
                   {"dq_dk_dv"},
                   {"convert_dq"},
                   {"total"},
                   {"min..max"},
                   {"TFLOPS"},
                   {"dense"}});
  std::string untimed;
  for (const MaskResult& mask : run.masks) {
    columns.add(timing_row(mask, Numbers{style.verbose}));
    if (!mask.timing) {
      const char* why = mask.passed()             ? ""
                        : has_wrong_numbers(mask) ? ": it failed verification"
                                                  : ": its runs differ";
      untimed += fmt::format("  {} was not timed{}\n", label_of(mask.mask), why);
    }
  }
  std::string text = heading("Performance", note(run), style);
  const bool timed = std::any_of(run.masks.begin(), run.masks.end(),
                                 [](const MaskResult& mask) { return mask.timing.has_value(); });
  if (!timed) return text + untimed;
  if (run.emulated) {
    text += "  These are times of the emulator on this CPU; they say nothing about the speed of a GPU.\n";
  }
  text += columns.text(style.colour) + untimed;
  return text +
         painted("  TFLOPS counts the visible pairs exactly; dense is the convention that counts all pairs\n",
                 Style::dim, style.colour);
}

}  // namespace fmha_bwd
