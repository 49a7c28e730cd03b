// The section of the table report about the emulated waves' accesses of shared memory.
#include <fmt/format.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/columns.h"
#include "src/report/sections.h"
#include "src/text_width.h"

namespace fmha_bwd {
namespace {

constexpr std::size_t kNameWidth = 34;

/// Cuts the last name off: "a", "a<b, c<d>>" or nothing.
void drop_name(std::string& text) {
  int depth = 0;
  while (!text.empty()) {
    const char c = text.back();
    const bool in_name = c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (depth == 0 && !in_name && c != '>') return;
    if (c == '>') ++depth;
    if (c == '<') --depth;
    text.pop_back();
  }
}

/// "int a<b>::c<&d::e, 4>" as "c<&e, 4>", cut where it is long.
std::string short_name(std::string_view name) {
  std::string text;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (name.substr(i, 2) == "::") {
      drop_name(text);
      ++i;
    } else if (c == ' ' && depth == 0) {
      text.clear();  // the type before a function's name
    } else {
      text += c;
    }
  }
  return display_width(text) <= kNameWidth ? text : truncated(text, kNameWidth - 1) + "…";
}

std::vector<Cell> row_of(const std::string& place, const std::string& function, const std::string& bytes,
                         const SharedAccessSite& site, Style style) {
  const double accesses = static_cast<double>(site.accesses);
  return {{place, style},
          {function},
          {site.kind, style},
          {bytes},
          {fmt::format("{}", site.accesses), style},
          {fmt::format("{}", site.phases), style},
          {fmt::format("{}", site.conflicts), style},
          {fmt::format("{:.4g}", static_cast<double>(site.conflicts) / accesses), style}};
}

/// The row of each kernel has its sum, those of its lines follow.
std::string table_of(const std::vector<SharedAccessSite>& sites, const TableStyle& style) {
  Columns columns({{"kernel and line", Align::left},
                   {"function", Align::left},
                   {"kind", Align::left},
                   {"bytes"},
                   {"accesses"},
                   {"cycles"},
                   {"conflicts"},
                   {"per access"}});
  for (std::size_t begin = 0, end = 0; begin < sites.size(); begin = end) {
    SharedAccessSite total;
    total.kind = "total";
    for (; end < sites.size() && sites[end].kernel == sites[begin].kernel; ++end) {
      total.accesses += sites[end].accesses;
      total.phases += sites[end].phases;
      total.conflicts += sites[end].conflicts;
    }
    columns.add(row_of(short_name(sites[begin].kernel), "", "", total, Style::strong));
    for (std::size_t i = begin; i < end; ++i) {
      const SharedAccessSite& site = sites[i];
      columns.add(row_of("  " + site.line, short_name(site.function), fmt::format("{}", site.bytes), site,
                         Style::plain));
    }
  }
  return columns.text(style.colour);
}

}  // namespace

std::string shared_memory_section(const RunResult& run, const TableStyle& style) {
  std::string text;
  for (const MaskResult& mask : run.masks) {
    if (!mask.emulator_stats) continue;
    text += text.empty()
                ? heading("Shared memory", "accesses of the emulated waves, and conflicts of banks", style)
                : "\n";
    text += fmt::format("  {}\n", painted(label_of(mask.mask), Style::strong, style.colour));
    text += mask.emulator_stats->empty() ? "  no access\n" : table_of(*mask.emulator_stats, style);
  }
  if (text.empty()) return "";
  return text + "  cycles are those of accesses without conflicts; each conflict is one cycle more\n";
}

}  // namespace fmha_bwd
