#include "src/report/bench/mask_pictures.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/mask_spec.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kCells = 32;
constexpr std::int64_t kMostQueries = std::int64_t{1} << 24;  // picture_of visits each

DrawnMask::Shape shape_drawn(const BenchCase& item) {
  const double density = item.all_pairs > 0
                             ? static_cast<double>(item.visible_pairs) / static_cast<double>(item.all_pairs)
                             : 0.0;
  DrawnMask::Shape shape = {item.seqlen_q, item.seqlen_k, density};
  if (item.seqlens_q.empty() || item.seqlens_q.size() != item.seqlens_k.size()) return shape;
  double most = -1.0;
  for (std::size_t i = 0; i < item.seqlens_q.size(); ++i) {
    const double pairs = static_cast<double>(item.seqlens_q[i]) * static_cast<double>(item.seqlens_k[i]);
    if (pairs <= most) continue;
    most = pairs;
    shape = {item.seqlens_q[i], item.seqlens_k[i], density};
  }
  return shape;
}

std::optional<MaskPicture> drawn(const std::string& name, const DrawnMask::Shape& shape) {
  if (shape.seqlen_q < 1 || shape.seqlen_q > kMostQueries) return {};
  if (shape.seqlen_k < 1 || shape.seqlen_k >= kUnbounded) return {};
  try {
    const std::vector<MaskSpec> masks = masks_from(name);
    if (masks.size() != 1) return {};
    return picture_of(Mask(masks.front().rule(), shape.seqlen_q, shape.seqlen_k), kCells, kCells);
  } catch (const Error&) {
    return {};
  }
}

void add(std::vector<DrawnMask>& masks, const BenchCase& item) {
  const DrawnMask::Shape shape = shape_drawn(item);
  const auto known = [&](const DrawnMask& mask) {
    return mask.mask == item.mask &&
           std::find(mask.shapes.begin(), mask.shapes.end(), shape) != mask.shapes.end();
  };
  if (std::any_of(masks.begin(), masks.end(), known)) return;
  std::optional<MaskPicture> picture = drawn(item.mask, shape);
  if (!picture) return;
  for (DrawnMask& mask : masks) {
    if (mask.mask != item.mask || mask.picture.lines != picture->lines) continue;
    mask.shapes.push_back(shape);
    return;
  }
  masks.push_back({item.mask, std::move(*picture), {shape}});
}

}  // namespace

std::vector<DrawnMask> masks_drawn(const BenchReport& report) {
  std::vector<DrawnMask> masks;
  for (const NamedRun& run : report.runs) {
    for (const BenchCase& item : run.results.cases) add(masks, item);
  }
  return masks;
}

}  // namespace fmha_bwd
