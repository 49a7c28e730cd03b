#include "base/problem.h"

#include <array>
#include <cmath>

namespace fmha_bwd {
namespace {

struct Bounded {
  const char* option;
  std::int64_t value;
  std::int64_t limit;
};

std::string text(std::int64_t value) { return std::to_string(value); }

}  // namespace

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::bhsd:
      return "bhsd";
    case Layout::bshd:
      return "bshd";
  }
  return "";
}

std::optional<Layout> layout_named(std::string_view name) {
  for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
    if (name_of(layout) == name) return layout;
  }
  return std::nullopt;
}

float default_scale(std::int64_t hdim_q) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(hdim_q)));
}

std::optional<std::string> complaint_about(const Problem& problem) {
  const std::array<Bounded, 7> bounds = {{
      {"--batch", problem.batch, kMaxExtent},
      {"--nhead", problem.nhead_q, kMaxExtent},
      {"--nhead-k", problem.nhead_k, kMaxExtent},
      {"--seqlen-q", problem.seqlen_q, kMaxExtent},
      {"--seqlen-k", problem.seqlen_k, kMaxExtent},
      {"--hdim", problem.hdim_q, kMaxHeadDim},
      {"--hdim-v", problem.hdim_v, kMaxHeadDim},
  }};
  for (const Bounded& bound : bounds) {
    if (bound.value < 1 || bound.value > bound.limit) {
      return std::string(bound.option) + ": " + text(bound.value) + " is not in 1.." + text(bound.limit);
    }
  }
  if (problem.nhead_q % problem.nhead_k != 0) {
    return "--nhead-k: " + text(problem.nhead_k) + " does not divide --nhead " + text(problem.nhead_q) +
           "; allowed is a divisor of it";
  }
  if (!std::isfinite(problem.scale)) {
    return "--scale: " + std::to_string(problem.scale) + " is not finite; allowed is any finite number";
  }
  // Byte counts must fit in 64 bits: bound the largest tensor (fp32 elements) in floating point first.
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double rows = real(problem.batch) * real(problem.nhead_q) *
                      real(problem.seqlen_q > problem.seqlen_k ? problem.seqlen_q : problem.seqlen_k);
  if (rows * static_cast<double>(kMaxHeadDim) * 4.0 > 0x1p62) {
    return "--batch: " + text(problem.batch) + " x --nhead " + text(problem.nhead_q) +
           " x the sequence length is more than 64-bit addresses hold; allowed is less than 2^52 rows";
  }
  return std::nullopt;
}

}  // namespace fmha_bwd
