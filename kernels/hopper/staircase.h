// The masks of the hopper family: those without a left limit.
#pragma once

#include <cstdint>

#include "base/mask.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// A mask in which query i sees the keys j <= i + last. It has the functions of base/mask.h's Mask, which
/// say there what they mean.
class Staircase {
 public:
  /// `rule` without left limit, prefix and documents.
  Staircase(const MaskRule& rule, std::int64_t seqlen_q, std::int64_t seqlen_k)
      : seqlen_q_(seqlen_q),
        seqlen_k_(seqlen_k),
        last_(rule.right < kUnbounded ? Mask(rule, seqlen_q, seqlen_k).diagonal() + rule.right
                                      : seqlen_k - 1),
        diagonal_(Mask(rule, seqlen_q, seqlen_k).diagonal()) {}

  FMHA_BWD_HOST_DEVICE constexpr std::int64_t seqlen_q() const { return seqlen_q_; }
  FMHA_BWD_HOST_DEVICE constexpr std::int64_t seqlen_k() const { return seqlen_k_; }
  FMHA_BWD_HOST_DEVICE constexpr std::int64_t diagonal() const { return diagonal_; }

  FMHA_BWD_HOST_DEVICE constexpr Range visible_keys(std::int64_t query) const {
    return {0, clamp(query + last_ + 1, seqlen_k_)};
  }
  FMHA_BWD_HOST_DEVICE constexpr Range visible_queries(std::int64_t key) const {
    return {clamp(key - last_, seqlen_q_), seqlen_q_};
  }
  FMHA_BWD_HOST_DEVICE constexpr Range keys_of(Range queries) const {
    return {visible_keys(queries.begin).begin, visible_keys(queries.end - 1).end};
  }
  FMHA_BWD_HOST_DEVICE constexpr Range queries_of(Range keys) const {
    return {visible_queries(keys.begin).begin, visible_queries(keys.end - 1).end};
  }

 private:
  FMHA_BWD_HOST_DEVICE static constexpr std::int64_t clamp(std::int64_t x, std::int64_t limit) {
    return x < 0 ? 0 : (x > limit ? limit : x);
  }

  std::int64_t seqlen_q_;
  std::int64_t seqlen_k_;
  std::int64_t last_;
  std::int64_t diagonal_;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
