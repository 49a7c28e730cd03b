#include "base/mask.h"

namespace fmha_bwd {

std::string_view name_of(MaskKind kind) {
  switch (kind) {
    case MaskKind::no_mask:
      return "no_mask";
    case MaskKind::top_left:
      return "top_left";
    case MaskKind::bottom_right:
      return "bottom_right";
  }
  return "";
}

std::optional<MaskKind> mask_kind_named(std::string_view name) {
  for (const MaskKind kind : kAllMaskKinds) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

}  // namespace fmha_bwd
