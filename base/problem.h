// One attention problem: shape, element type, scores and memory layout. The mask is chosen apart.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace fmha_bwd {

inline constexpr std::int64_t kMaxHeadDim = 512;
inline constexpr std::int64_t kMaxExtent =
    std::numeric_limits<std::int32_t>::max() / 4;  // of the other dimensions

/// The order in which the dimensions of Q, K, V, dO, O and the gradients stand in device memory.
enum class Layout {
  bhsd,  // [batch, head, row, column]
  bshd,  // [batch, row, head, column]
  qkv    // bshd, where Q, K and V are views of one tensor [batch, row, nhead_q + 2 nhead_k, column], and so
         // are dQ, dK and dV
};

/// "bhsd", "bshd" or "qkv".
std::string_view name_of(Layout layout);
/// The inverse of name_of; nothing where no layout has that name.
std::optional<Layout> layout_named(std::string_view name);

/// So that four times a counter, as cuRAND and hipRAND count, fits in 64 bits with all of a problem's draws.
inline constexpr std::uint64_t kMaxDropoutOffset = std::uint64_t{1} << 60;

/// What an elementwise bias has of its own: [1 or batch, 1 or nhead_q, seqlen_q, seqlen_k].
enum class BiasShape { none, shared, head, batch, full };

/// "none", "shared" [1, 1, ...], "head" [1, nhead_q, ...], "batch" [batch, 1, ...] or "full".
std::string_view name_of(BiasShape shape);
/// The inverse of name_of; nothing where no shape has that name.
std::optional<BiasShape> bias_shape_named(std::string_view name);

/// P is multiplied by 0 with this probability, else by 1 / (1 - probability); base/dropout.h has the draws,
/// and how the probability is rounded.
struct Dropout {
  float probability = 0.0F;  // in [0, 1)
  std::uint64_t seed = 1;
  std::uint64_t offset = 0;  // of the Philox counter, up to kMaxDropoutOffset

  bool operator==(const Dropout&) const = default;
};

/// Q [batch, nhead_q, seqlen_q, hdim_q]    K [batch, nhead_k, seqlen_k, hdim_q]
/// O [batch, nhead_q, seqlen_q, hdim_v]    V [batch, nhead_k, seqlen_k, hdim_v]
/// Query head h uses key head h / (nhead_q / nhead_k). Shapes, indices and host copies are always in this
/// order; `layout` says where the elements stand on the device, and changes no number.
///
/// In group mode the sequences have lengths of their own and their rows follow one another, as if they were
/// those of one sequence: Q is [1, nhead_q, sum of seqlens_q, hdim_q]. `batch` is then their number and
/// seqlen_q and seqlen_k are the longest; make_grouped sets them.
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

  std::vector<std::int64_t> seqlens_q = {};  // [batch] in group mode, else empty
  std::vector<std::int64_t> seqlens_k = {};
  // Rows that each sequence has on the device, at least its length: one a sequence in group mode, else one
  // for all; empty where that is the length.
  std::vector<std::int64_t> padded_q = {};
  std::vector<std::int64_t> padded_k = {};

  // S = softcap(scale Q K^T) + bias - slope |i + diagonal - j|
  float softcap = 0.0F;              // softcap(s) = softcap tanh(s / softcap); 0 is none
  BiasShape bias = BiasShape::none;  // of the problem's type; its gradient is an output
  bool alibi = false;                // slope is base/alibi.h's; query i stands at key i + diagonal
  bool sink = false;                 // a score of each query head that takes part in every softmax's sum
  Dropout dropout = {};
  bool deterministic = false;  // the same bits in every run

  /// Query heads that share one key head.
  std::int64_t group_size() const { return nhead_q / nhead_k; }
  bool grouped() const { return !seqlens_q.empty(); }
  /// Whether the scores are scale Q K^T alone, and P is used as it is.
  bool plain_scores() const {
    return softcap == 0.0F && bias == BiasShape::none && !alibi && !sink && dropout.probability == 0.0F;
  }
};

/// Puts `problem` into group mode: sets seqlens_q, seqlens_k, batch, seqlen_q and seqlen_k. The lists have
/// equal lengths and are not empty.
void make_grouped(Problem& problem, std::vector<std::int64_t> seqlens_q, std::vector<std::int64_t> seqlens_k);

/// 1/sqrt(hdim_q), rounded once to float.
float default_scale(std::int64_t hdim_q);

/// Why the problem cannot be computed, in one line that names the option, its value and what is allowed;
/// nothing where it can.
std::optional<std::string> complaint_about(const Problem& problem);

}  // namespace fmha_bwd
