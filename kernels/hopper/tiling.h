// Sizes of the tiles of the backward, and the order of dQ's accumulator.
//
// A tile of queries has kM rows of Q and dO, a tile of keys kN rows of K and V. In shared memory they stand
// in panels of 64 columns, as ptx/wgmma.h wants them; dS^T is [kN keys][kM queries], in panels of 64 queries.
// The copy engine fills columns past the problem's head dimensions with zeros.
//
// The accumulator of dQ is [planes, plane_tiles, kM * hdim] floats (sequences.h), a tile in the order of the
// registers that it is added from: [half][8][128 threads][4] floats, thread t of a half's warpgroup adding
// its sums r = 4 c to 4 c + 3 at [c][t]. A half is 64 queries by 64 columns: of dQ the left and the right
// columns where hdim is 128; of dQ^T the first and the last 64 queries where hdim is 64. Above 128 a half is
// 64 queries by half of the columns, and 8 stands for an eighth of those. So additions are of 16 bytes,
// coalesced, straight from registers.
#pragma once

#include <cstddef>

#include "base/host_device.h"
#include "base/problem.h"
#include "kernels/hopper/share_out.h"
#include "kernels/hopper/tensor_map.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The one number that names a pair of head dimensions: what they are where they are equal.
constexpr int head_dims(int hdim_q, int hdim_v) { return hdim_q == hdim_v ? hdim_q : 1000 * hdim_q + hdim_v; }

/// kHeadDim is one of head_dims(64, 64), (128, 128), (192, 128), (192, 192) and (256, 256).
template <int kHeadDim>
struct Tiling {
  static constexpr int kHdimQ = kHeadDim < 1000 ? kHeadDim : kHeadDim / 1000;  // columns of Q and K
  static constexpr int kHdimV = kHeadDim < 1000 ? kHeadDim : kHeadDim % 1000;  // columns of V and dO
  static_assert(kHeadDim == 64 || kHeadDim == 128 || kHdimQ == 192 || kHdimQ == 256);
  static constexpr bool kWide = kHdimQ > 128;  // wide.h's walk
  static constexpr int kM = kHdimQ == 64 ? 128 : 64;
  static constexpr int kN = kWide ? 64 : 128;
  static constexpr int kStages = kHdimQ == 256 ? 2 : 3;              // tiles of Q and of dO in shared memory
  static constexpr int kKeyStages = kHdimQ + kHdimV <= 320 ? 2 : 1;  // of K; there is no room for more
  static constexpr int kVParts = kWide ? 1 : 2;                      // of V's tile, 64 rows each
  static constexpr int kDsStages = 2;                                // of dS
  static constexpr int kQPanels = kHdimQ / kPanelColumns;
  static constexpr int kVPanels = kHdimV / kPanelColumns;
  static constexpr int kKeyPanelBytes = kN * kPanelRowBytes;
  static constexpr int kVPartBytes = 64 * kPanelRowBytes;  // of a panel
  static constexpr int kQueryPanelBytes = kM * kPanelRowBytes;
  static constexpr int kDsPanelBytes = kN * kPanelRowBytes;
  static constexpr int kKBytes = kQPanels * kKeyPanelBytes;
  static constexpr int kVBytes = kVPanels * kKeyPanelBytes;
  static constexpr int kQBytes = kQPanels * kQueryPanelBytes;
  static constexpr int kDoBytes = kVPanels * kQueryPanelBytes;
  static constexpr int kDsTileBytes = kM / kPanelColumns * kDsPanelBytes;
  static constexpr int kQueryTileElements = kM * kHdimQ;
  static constexpr int kKeyTileElements = kN * (kHdimQ + kHdimV);  // of dK and dV
};

/// The column of dQ that is `column` of a half. At hdim 192 a half has 64 columns at an end of the row, and
/// then 32 from the middle.
template <int kHeadDim>
FMHA_BWD_HOST_DEVICE constexpr int column_of_half(int half, int column) {
  if (Tiling<kHeadDim>::kHdimQ != 192) return half * (Tiling<kHeadDim>::kHdimQ / 2) + column;
  return column < 64 ? half * 128 + column : half * 32 + column;
}

/// Tiles of queries of one head of the longest sequence.
template <int kHeadDim>
constexpr std::int64_t query_tiles(const Problem& problem) {
  return divided_up(problem.seqlen_q, Tiling<kHeadDim>::kM);
}

/// The same of a plane, which sequences.h tells of.
template <int kHeadDim>
std::int64_t plane_tiles(const Problem& problem) {
  if (!problem.grouped()) return query_tiles<kHeadDim>(problem);
  return shape_of(TensorId::q, problem).row / Tiling<kHeadDim>::kM + problem.batch;
}

/// The same of all planes.
template <int kHeadDim>
std::int64_t all_query_tiles(const Problem& problem) {
  return (problem.grouped() ? 1 : problem.batch) * problem.nhead_q * plane_tiles<kHeadDim>(problem);
}

/// Tiles of keys of all heads of all sequences.
template <int kHeadDim>
std::int64_t all_key_tiles(const Problem& problem) {
  constexpr std::int64_t kN = Tiling<kHeadDim>::kN;
  if (!problem.grouped()) return problem.batch * problem.nhead_k * divided_up(problem.seqlen_k, kN);
  std::int64_t tiles = 0;
  for (const std::int64_t seqlen : problem.seqlens_k) tiles += problem.nhead_k * divided_up(seqlen, kN);
  return tiles;
}

/// Rows of all planes.
template <int kHeadDim>
std::int64_t padded_rows(const Problem& problem) {
  return all_query_tiles<kHeadDim>(problem) * Tiling<kHeadDim>::kM;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
