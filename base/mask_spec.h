// A mask as the user names it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mask.h"

namespace fmha_bwd {

/// A mask before it is laid over scores, with its documents.
struct MaskSpec {
  Alignment alignment = Alignment::bottom_right;
  std::int64_t left = kUnbounded;
  std::int64_t right = kUnbounded;
  std::int64_t prefix = 0;
  std::vector<std::int64_t> document_ends;  // ascending

  /// What kernels take; its document_ends point into this object.
  MaskRule rule() const;
  bool operator==(const MaskSpec&) const = default;
};

inline const MaskSpec kNoMask = {};
inline const MaskSpec kTopLeft = {.alignment = Alignment::top_left, .right = 0, .document_ends = {}};
inline const MaskSpec kBottomRight = {.right = 0, .document_ends = {}};

/// no_mask, top_left and bottom_right.
const std::vector<MaskSpec>& basic_masks();

/// The mask's name, which masks_from reads back:
///
///     no_mask                   query i sees every key
///     top_left                  j <= i
///     bottom_right              j <= i + (seqlen_k - seqlen_q)
///     top_left:L,R              i - L <= j <= i + R; -1 is no limit
///     bottom_right:L,R          the same around i + (seqlen_k - seqlen_q)
///     prefix:N                  j <= i or j < N
///     document:N,N,...          i and j are in the same document; documents of N tokens follow one another,
///                               and the tokens after the last are one more
///     document_causal:N,N,...   that, and j <= i
///     generic:Y,X               i - Y < j < i + X
std::string name_of(const MaskSpec& mask);

/// The masks of a comma-separated list, each once, in the order given. Besides the names above it takes the
/// short forms of other tools: 0 n, 1 t, 2 b, t:L,R, b:L,R, g:Y,X, and xt:W, xb:W, a window of W keys around
/// the diagonal (L = W / 2, R = W - 1 - L; W <= 0 is causal). After document: every number is a length.
/// Throws Error (bad_usage) whose message names --mask, what is wrong, and what is allowed.
std::vector<MaskSpec> masks_from(const std::string& list);

/// The same mask with its diagonal moved towards later keys by `keys`.
MaskSpec shifted(const MaskSpec& mask, std::int64_t keys);

}  // namespace fmha_bwd
