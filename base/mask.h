// Which keys a query sees: the one definition that kernels, reference, density and pictures share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/host_device.h"

namespace fmha_bwd {

enum class MaskKind { no_mask, top_left, bottom_right };

inline constexpr std::array<MaskKind, 3> kAllMaskKinds = {MaskKind::no_mask, MaskKind::top_left,
                                                          MaskKind::bottom_right};

/// "no_mask", "top_left" or "bottom_right".
std::string_view name_of(MaskKind kind);
/// The inverse of name_of; nothing where no mask has that name.
std::optional<MaskKind> mask_kind_named(std::string_view name);

/// The integers in [begin, end); empty where end <= begin.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  FMHA_BWD_HOST_DEVICE constexpr bool empty() const { return end <= begin; }
  FMHA_BWD_HOST_DEVICE constexpr std::int64_t size() const { return empty() ? 0 : end - begin; }
  FMHA_BWD_HOST_DEVICE constexpr bool contains(std::int64_t x) const { return begin <= x && x < end; }
  FMHA_BWD_HOST_DEVICE constexpr bool operator==(const Range& other) const {
    return begin == other.begin && end == other.end;
  }
};

/// A mask laid over seqlen_q x seqlen_k scores. Every query sees one range of keys and every key is seen
/// by one range of queries, both monotonic, so that tiles can be skipped by looking at their first and
/// last row alone.
///
///   no_mask       query i sees every key
///   top_left      query i sees the keys j <= i
///   bottom_right  query i sees the keys j <= i + (seqlen_k - seqlen_q)
///
/// A query may see no key (bottom_right, seqlen_q > seqlen_k) and a key may be seen by no query
/// (top_left, seqlen_k > seqlen_q).
class Mask {
 public:
  FMHA_BWD_HOST_DEVICE constexpr Mask(MaskKind kind, std::int64_t seqlen_q, std::int64_t seqlen_k)
      : seqlen_q_(seqlen_q), seqlen_k_(seqlen_k), diagonal_(diagonal_of(kind, seqlen_q, seqlen_k)) {}

  FMHA_BWD_HOST_DEVICE constexpr std::int64_t seqlen_q() const { return seqlen_q_; }
  FMHA_BWD_HOST_DEVICE constexpr std::int64_t seqlen_k() const { return seqlen_k_; }

  /// The keys that query i sees, a part of [0, seqlen_k).
  FMHA_BWD_HOST_DEVICE constexpr Range visible_keys(std::int64_t query) const {
    return {0, clamp(query + diagonal_ + 1, seqlen_k_)};
  }

  /// The queries that see key j, a part of [0, seqlen_q).
  FMHA_BWD_HOST_DEVICE constexpr Range visible_queries(std::int64_t key) const {
    return {clamp(key - diagonal_, seqlen_q_), seqlen_q_};
  }

  FMHA_BWD_HOST_DEVICE constexpr bool visible(std::int64_t query, std::int64_t key) const {
    return visible_keys(query).contains(key);
  }

  /// The keys that any of the queries in `queries` sees; `queries` is not empty.
  FMHA_BWD_HOST_DEVICE constexpr Range keys_of(Range queries) const {
    return {visible_keys(queries.begin).begin, visible_keys(queries.end - 1).end};
  }

  /// The queries that see any of the keys in `keys`; `keys` is not empty.
  FMHA_BWD_HOST_DEVICE constexpr Range queries_of(Range keys) const {
    return {visible_queries(keys.begin).begin, visible_queries(keys.end - 1).end};
  }

  /// The same mask with its diagonal moved towards later keys by `keys`.
  FMHA_BWD_HOST_DEVICE constexpr Mask shifted(std::int64_t keys) const {
    Mask moved = *this;
    moved.diagonal_ += keys;
    return moved;
  }

 private:
  FMHA_BWD_HOST_DEVICE static constexpr std::int64_t diagonal_of(MaskKind kind, std::int64_t seqlen_q,
                                                                 std::int64_t seqlen_k) {
    switch (kind) {
      case MaskKind::no_mask:
        return seqlen_k - 1;
      case MaskKind::top_left:
        return 0;
      case MaskKind::bottom_right:
        return seqlen_k - seqlen_q;
    }
    return 0;
  }

  FMHA_BWD_HOST_DEVICE static constexpr std::int64_t clamp(std::int64_t x, std::int64_t limit) {
    return x < 0 ? 0 : (x > limit ? limit : x);
  }

  std::int64_t seqlen_q_;
  std::int64_t seqlen_k_;
  std::int64_t diagonal_;  // query i sees the keys j <= i + diagonal
};

}  // namespace fmha_bwd
