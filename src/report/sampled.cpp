// The lines of the table report about a sample of rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "src/report/columns.h"
#include "src/report/sections.h"

namespace fmha_bwd {
namespace {

constexpr std::array<const char*, 3> kSides = {"queries", "keys", "bias"};

/// The side of that number; nullptr where the mask was not sampled or has none.
const SampledSide* side_of(const MaskResult& mask, std::size_t number) {
  if (!mask.sampled) return nullptr;
  if (number == 2) return mask.sampled->bias ? &*mask.sampled->bias : nullptr;
  return number == 0 ? &mask.sampled->queries : &mask.sampled->keys;
}

std::string part(const RowClass& rows) { return fmt::format("{} of {}", rows.sampled, rows.rows); }

std::vector<Cell> row_of(const MaskResult& mask, const char* name, const SampledSide& side) {
  RowClass all;
  for (const RowClass& rows : side.classes) {
    all.rows += rows.rows;
    all.sampled += rows.sampled;
  }
  std::vector<Cell> row = {{label_of(mask.mask)}, {name}, {part(all)}};
  for (const RowClass& rows : side.classes) row.push_back({part(rows)});
  return row;
}

/// With two digits, the second rounded up.
std::string at_most(double chance) {
  const std::string nearest = fmt::format("{:.1e}", chance);
  if (std::stod(nearest) >= chance) return nearest;
  const double step = std::pow(10.0, std::stod(nearest.substr(nearest.find('e') + 1)) - 1.0);
  return fmt::format("{:.1e}", std::stod(nearest) + step);
}

std::string fate(double chance) {
  return chance == 0.0 ? "seen for certain" : fmt::format("missed with chance at most {}", at_most(chance));
}

}  // namespace

std::string sample_lines(const RunResult& run, const TableStyle& style) {
  Columns counts(
      {{"mask", Align::left}, {"rows of", Align::left}, {"sampled"}, {"edge"}, {"boundary"}, {"inner"}});
  Columns chances({{"", Align::left}, {"", Align::left}});
  bool any = false;
  for (const MaskResult& mask : run.masks) {
    for (std::size_t i = 0; i < kSides.size(); ++i) {
      if (const SampledSide* side = side_of(mask, i)) counts.add(row_of(mask, kSides[i], *side));
    }
  }
  for (std::size_t i = 0; i < kSides.size(); ++i) {
    double boundary = 0.0;  // of the worst mask
    double share = 0.0;
    bool there = false;
    for (const MaskResult& mask : run.masks) {
      const SampledSide* side = side_of(mask, i);
      if (side == nullptr) continue;
      there = any = true;
      boundary = std::max(boundary, side->boundary_missed);
      share = std::max(share, side->share_missed);
    }
    if (!there) continue;
    chances.add({{kSides[i]}, {fmt::format("a fault in one tile-boundary row is {}", fate(boundary))}});
    chances.add(
        {{""}, {fmt::format("a fault in {:g}% of the rows is {}", 100.0 * kFaultShare, fate(share))}});
  }
  return any ? "\n" + counts.text(style.colour) + chances.text(style.colour) : "";
}

}  // namespace fmha_bwd
