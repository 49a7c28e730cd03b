// Sizes of the tiles of the backward, and the order of dQ's accumulator.
//
// A tile of queries has kM rows of Q and dO, a tile of keys kN rows of K and V. In shared memory they stand
// in panels of 64 columns, as ptx/wgmma.h wants them; dS^T is [kN keys][kM queries], in panels of 64 queries.
//
// The accumulator of dQ is [planes, plane_tiles, kM * hdim] floats (sequences.h), a tile in the order of the
// registers that it is added from: [half][8][128 threads][4] floats, thread t of a half's warpgroup adding
// its sums r = 4 c to 4 c + 3 at [c][t]. A half is 64 queries by 64 columns: of dQ the left and the right
// columns where hdim is 128; of dQ^T the first and the last 64 queries where hdim is 64. So additions are of
// 16 bytes, coalesced, straight from registers.
#pragma once

#include <cstddef>

#include "base/problem.h"
#include "kernels/hopper/share_out.h"
#include "kernels/hopper/tensor_map.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

template <int kHeadDim>
struct Tiling {
  static_assert(kHeadDim == 64 || kHeadDim == 128);
  static constexpr int kM = kHeadDim == 64 ? 128 : 64;
  static constexpr int kN = 128;
  static constexpr int kStages = kHeadDim == 64 ? 2 : 3;  // tiles of Q and of dO in shared memory
  static constexpr int kDsStages = 3;                     // tiles of dS in shared memory
  static constexpr int kPanels = kHeadDim / kPanelColumns;
  static constexpr int kKeyPanelBytes = kN * kPanelRowBytes;
  static constexpr int kQueryPanelBytes = kM * kPanelRowBytes;
  static constexpr int kDsPanelBytes = kN * kPanelRowBytes;
  static constexpr int kKeyTileBytes = kPanels * kKeyPanelBytes;
  static constexpr int kQueryTileBytes = kPanels * kQueryPanelBytes;
  static constexpr int kDsTileBytes = kM / kPanelColumns * kDsPanelBytes;
  static constexpr int kQueryTileElements = kM * kHeadDim;
  static constexpr int kKeyTileElements = kN * kHeadDim;
};

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
