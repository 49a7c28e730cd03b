// Which keys a query sees: the one definition that kernels, reference, density and pictures share.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fmha_bwd {

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

/// Which corner of the scores the diagonal starts from: query i stands at key i, or at key
/// i + (seqlen_k - seqlen_q).
enum class Alignment { top_left, bottom_right };

/// No limit to a window; larger than any length, so that sums with lengths stay far from overflow.
inline constexpr std::int64_t kUnbounded = std::int64_t{1} << 40;

/// A mask before it is laid over scores, as kernels take it; MaskSpec (base/mask_spec.h) makes it. With d the
/// key that query i stands at, query i sees the keys j with
///
///     d - left <= j <= d + right   or   j < prefix
///
/// that are in its own document, where there are documents: tokens, queries and keys alike, are cut after
/// each of `document_ends`. A prefix is only used with an unbounded `left`.
struct MaskRule {
  Alignment alignment = Alignment::bottom_right;
  std::int64_t left = kUnbounded;               // may be negative: the window begins after d
  std::int64_t right = kUnbounded;              // may be negative: it ends before d
  std::int64_t prefix = 0;                      // keys that every query sees
  const std::int64_t* document_ends = nullptr;  // [documents], ascending
  std::int64_t documents = 0;                   // without the one after the last end
};

/// A rule laid over seqlen_q x seqlen_k scores. Every query sees one range of keys and every key is seen by
/// one range of queries; the ends of both never move back from one row to the next, so that tiles can be
/// skipped by looking at their first and last row alone.
///
/// A query may see no key (bottom_right, seqlen_q > seqlen_k) and a key may be seen by no query (top_left,
/// seqlen_k > seqlen_q).
class Mask {
 public:
  FMHA_BWD_HOST_DEVICE constexpr Mask(const MaskRule& rule, std::int64_t seqlen_q, std::int64_t seqlen_k)
      : seqlen_q_(seqlen_q),
        seqlen_k_(seqlen_k),
        diagonal_(rule.alignment == Alignment::top_left ? 0 : seqlen_k - seqlen_q),
        first_(diagonal_ - rule.left),
        last_(diagonal_ + rule.right),
        prefix_(rule.prefix),
        document_ends_(rule.document_ends),
        documents_(rule.documents) {}

  FMHA_BWD_HOST_DEVICE constexpr std::int64_t seqlen_q() const { return seqlen_q_; }
  FMHA_BWD_HOST_DEVICE constexpr std::int64_t seqlen_k() const { return seqlen_k_; }
  /// Query i stands at key i + diagonal().
  FMHA_BWD_HOST_DEVICE constexpr std::int64_t diagonal() const { return diagonal_; }

  /// The keys that query i sees, a part of [0, seqlen_k).
  FMHA_BWD_HOST_DEVICE constexpr Range visible_keys(std::int64_t query) const {
    Range keys = {query + first_, query + last_ + 1};
    if (keys.end < prefix_) keys.end = prefix_;
    return clamped(keys, query, seqlen_k_);
  }

  /// The queries that see key j, a part of [0, seqlen_q).
  FMHA_BWD_HOST_DEVICE constexpr Range visible_queries(std::int64_t key) const {
    Range queries = {key - last_, key - first_ + 1};
    if (key < prefix_) queries.begin = 0;
    return clamped(queries, key, seqlen_q_);
  }

  FMHA_BWD_HOST_DEVICE constexpr bool visible(std::int64_t query, std::int64_t key) const {
    return visible_keys(query).contains(key);
  }

  /// A range that holds all keys that any of the queries in `queries` sees; `queries` is not empty.
  FMHA_BWD_HOST_DEVICE constexpr Range keys_of(Range queries) const {
    return {visible_keys(queries.begin).begin, visible_keys(queries.end - 1).end};
  }

  /// A range that holds all queries that see any of the keys in `keys`; `keys` is not empty.
  FMHA_BWD_HOST_DEVICE constexpr Range queries_of(Range keys) const {
    return {visible_queries(keys.begin).begin, visible_queries(keys.end - 1).end};
  }

 private:
  /// The part of `range` in [0, limit) and in the document of `token`.
  FMHA_BWD_HOST_DEVICE constexpr Range clamped(Range range, std::int64_t token, std::int64_t limit) const {
    Range allowed = {0, limit};
    if (documents_ > 0) {
      const Range document = document_of(token);
      allowed = {smaller(document.begin, limit), smaller(document.end, limit)};
    }
    return {smaller(larger(range.begin, allowed.begin), allowed.end),
            larger(smaller(range.end, allowed.end), allowed.begin)};
  }

  FMHA_BWD_HOST_DEVICE constexpr Range document_of(std::int64_t token) const {
    std::int64_t before = 0;  // documents that end at or before the token
    std::int64_t after = documents_;
    while (before < after) {
      const std::int64_t middle = (before + after) / 2;
      if (document_ends_[middle] <= token) {
        before = middle + 1;
      } else {
        after = middle;
      }
    }
    return {before == 0 ? 0 : document_ends_[before - 1],
            before == documents_ ? kUnbounded : document_ends_[before]};
  }

  FMHA_BWD_HOST_DEVICE static constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
  }
  FMHA_BWD_HOST_DEVICE static constexpr std::int64_t larger(std::int64_t a, std::int64_t b) {
    return a > b ? a : b;
  }

  std::int64_t seqlen_q_;
  std::int64_t seqlen_k_;
  std::int64_t diagonal_;
  std::int64_t first_;  // query i sees the keys from i + first ...
  std::int64_t last_;   // ... to i + last
  std::int64_t prefix_;
  const std::int64_t* document_ends_;
  std::int64_t documents_;
};

/// Whether every one of seqlen_q queries is known to see every one of seqlen_k keys: with documents it is
/// not.
constexpr bool all_see_all(const MaskRule& rule, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  if (rule.documents > 0) return false;
  const Mask mask(rule, seqlen_q, seqlen_k);
  const Range all = {0, seqlen_k};
  return mask.visible_keys(0) == all && mask.visible_keys(seqlen_q - 1) == all;
}

}  // namespace fmha_bwd
