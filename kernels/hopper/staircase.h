// The masks without a left limit, which kernels have a shorter way for.
#pragma once

#include <cstdint>

#include "base/mask.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// A mask in which query i sees the keys j <= i + diagonal. It has the functions of base/mask.h's Mask, which
/// say there what they mean; it counts in 32 bits.
class Staircase {
 public:
  /// What of a MaskRule it needs.
  struct Rule {
    bool top_left;
    int right;
  };

  /// Whether `rule` makes such a mask: it has no left limit, prefix or documents.
  static constexpr bool is_one(const MaskRule& rule) {
    return rule.left >= kUnbounded && rule.prefix == 0 && rule.documents == 0;
  }
  /// Of a `rule` that does. No length is beyond kFar.
  static constexpr Rule rule_of(const MaskRule& rule) {
    constexpr std::int64_t kFar = std::int64_t{1} << 30;
    const std::int64_t right = rule.right < -kFar ? -kFar : rule.right < kFar ? rule.right : kFar;
    return {rule.alignment == Alignment::top_left, static_cast<int>(right)};
  }

  FMHA_BWD_HOST_DEVICE constexpr Staircase(const Rule& rule, int seqlen_q, int seqlen_k)
      : seqlen_q_(seqlen_q),
        seqlen_k_(seqlen_k),
        diagonal_((rule.top_left ? 0 : seqlen_k - seqlen_q) + rule.right) {}

  FMHA_BWD_HOST_DEVICE constexpr int seqlen_q() const { return seqlen_q_; }
  FMHA_BWD_HOST_DEVICE constexpr int seqlen_k() const { return seqlen_k_; }

  FMHA_BWD_HOST_DEVICE constexpr Range visible_keys(int query) const {
    return {0, clamp(query + diagonal_ + 1, seqlen_k_)};
  }
  FMHA_BWD_HOST_DEVICE constexpr Range visible_queries(int key) const {
    return {clamp(key - diagonal_, seqlen_q_), seqlen_q_};
  }
  FMHA_BWD_HOST_DEVICE constexpr Range keys_of(Range queries) const {
    return {0, visible_keys(static_cast<int>(queries.end) - 1).end};
  }
  FMHA_BWD_HOST_DEVICE constexpr Range queries_of(Range keys) const {
    return {visible_queries(static_cast<int>(keys.begin)).begin, seqlen_q_};
  }

 private:
  FMHA_BWD_HOST_DEVICE static constexpr int clamp(int x, int limit) {
    return x < 0 ? 0 : (x > limit ? limit : x);
  }

  int seqlen_q_;
  int seqlen_k_;
  int diagonal_;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
