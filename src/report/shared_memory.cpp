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

/// "a::b<&c::d, 4>" as "b<&d, 4>", cut where it is long.
std::string without_scopes(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i, 2) != "::") {
      text += name[i];
      continue;
    }
    const auto in_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && in_name(text.back())) text.pop_back();
    ++i;
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
    columns.add(row_of(without_scopes(sites[begin].kernel), "", "", total, Style::strong));
    for (std::size_t i = begin; i < end; ++i) {
      const SharedAccessSite& site = sites[i];
      columns.add(row_of("  " + site.line, without_scopes(site.function), fmt::format("{}", site.bytes), site,
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
