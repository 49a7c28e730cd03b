// One attention problem: the shape, the element type, the scale and the memory layout. The mask is chosen
// apart.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace fmha_bwd {

inline constexpr std::int64_t kMaxHeadDim = 256;
inline constexpr std::int64_t kMaxExtent =
    std::numeric_limits<std::int32_t>::max() / 4;  // of the other dimensions

/// The order in which the dimensions of Q, K, V, dO, O and the gradients stand in device memory.
enum class Layout {
  bhsd,  // [batch, head, row, column]
  bshd   // [batch, row, head, column]
};

/// "bhsd" or "bshd".
std::string_view name_of(Layout layout);
/// The inverse of name_of; nothing where no layout has that name.
std::optional<Layout> layout_named(std::string_view name);

/// Q [batch, nhead_q, seqlen_q, hdim_q]    K [batch, nhead_k, seqlen_k, hdim_q]
/// O [batch, nhead_q, seqlen_q, hdim_v]    V [batch, nhead_k, seqlen_k, hdim_v]
/// Query head h uses key head h / (nhead_q / nhead_k). Shapes, indices and host copies are always in this
/// order; `layout` says where the elements stand on the device, and changes no number.
struct Problem {
  std::int64_t batch = 2;
  std::int64_t nhead_q = 8;
  std::int64_t nhead_k = 8;
  std::int64_t seqlen_q = 64;
  std::int64_t seqlen_k = 64;
  std::int64_t hdim_q = 128;
  std::int64_t hdim_v = 128;
  DType dtype = DType::fp16;
  float scale = 0.088388346F;  // of the scores; 1/sqrt(hdim_q) unless the user sets it
  Layout layout = Layout::bhsd;

  /// Query heads that share one key head.
  std::int64_t group_size() const { return nhead_q / nhead_k; }
};

/// 1/sqrt(hdim_q), rounded once to float.
float default_scale(std::int64_t hdim_q);

/// Why the problem cannot be computed, in one line that names the option, its value and what is allowed;
/// nothing where it can.
std::optional<std::string> complaint_about(const Problem& problem);

/// The seed and the spread of the random inputs.
struct Fill {
  std::uint64_t seed = 42;
  float standard_deviation = 0.1F;
};

}  // namespace fmha_bwd
