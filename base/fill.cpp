#include "base/fill.h"

#include <array>
#include <cmath>

namespace fmha_bwd {
namespace {

constexpr std::array<FillKind, 5> kKinds = {FillKind::normal, FillKind::uniform, FillKind::integers,
                                            FillKind::zeros, FillKind::extreme};
constexpr std::uint64_t kFirstSignStream = 64;  // after those of the tensors
constexpr double kExtremeScore = 120.0;
constexpr float kExtremeDeviation = 3.0F;

/// |q| = |k| so that scale * hdim_q * q * k is the extreme score.
float extreme_magnitude(const Problem& problem) {
  const double sum = std::abs(static_cast<double>(problem.scale)) * static_cast<double>(problem.hdim_q);
  return sum == 0.0 ? 1.0F : static_cast<float>(std::sqrt(kExtremeScore / sum));
}

}  // namespace

std::string_view name_of(FillKind kind) {
  switch (kind) {
    case FillKind::normal:
      return "normal";
    case FillKind::uniform:
      return "uniform";
    case FillKind::integers:
      return "integers";
    case FillKind::zeros:
      return "zeros";
    case FillKind::extreme:
      return "extreme";
  }
  return "";
}

std::optional<FillKind> fill_kind_named(std::string_view name) {
  for (const FillKind kind : kKinds) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

FillRule fill_rule(TensorId id, const Problem& problem, const Fill& fill) {
  const auto stream = static_cast<std::uint64_t>(id);
  FillRule rule{fill.seed, stream, kFirstSignStream + stream, FillRule::Map::constant, 0.0F};
  if (id == TensorId::d_o && fill.d_o_is_one) {
    rule.size = 1.0F;
    return rule;
  }
  switch (fill.kind) {
    case FillKind::normal:
      rule.map = FillRule::Map::normal;
      rule.size = fill.standard_deviation;
      break;
    case FillKind::uniform:
      rule.map = FillRule::Map::uniform;
      break;
    case FillKind::integers:
      rule.map = FillRule::Map::integers;
      break;
    case FillKind::zeros:
      break;
    case FillKind::extreme: {
      const bool scored = id == TensorId::q || id == TensorId::k;
      rule.map = scored ? FillRule::Map::signed_rows : FillRule::Map::normal;
      rule.size = scored ? extreme_magnitude(problem) : kExtremeDeviation;
      break;
    }
  }
  return rule;
}

}  // namespace fmha_bwd
