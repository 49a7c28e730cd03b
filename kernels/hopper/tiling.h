// Sizes that the stages of the backward share.
#pragma once

#include "base/problem.h"
#include "kernels/hopper/tensor_map.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

#ifndef HOP_STAGES
#define HOP_STAGES 2
#endif
#ifndef HOP_STAGES64
#define HOP_STAGES64 2
#endif

/// Sizes of the tiles of stage 2 for head dimension kHeadDim.
template <int kHeadDim>
struct Tiling {
  static constexpr int kM = kHeadDim == 64 ? 128 : 64;  // queries
  static constexpr int kN = 128;                        // keys
  static constexpr int kStages = kHeadDim == 64 ? HOP_STAGES64 : HOP_STAGES;  // tiles of Q and of dO in flight
  static constexpr int kDsStages = 3;
  static constexpr int kPanels = kHeadDim / kPanelColumns;
  static constexpr int kKeyPanelBytes = kN * 128;    // of K and V
  static constexpr int kQueryPanelBytes = kM * 128;  // of Q and dO
  static constexpr int kKeyTileBytes = kPanels * kKeyPanelBytes;
  static constexpr int kQueryTileBytes = kPanels * kQueryPanelBytes;
  static constexpr int kDsPanelBytes = kN * 128;  // dS^T: [keys][64 queries]
  static constexpr int kDsTileBytes = kM / 64 * kDsPanelBytes;
  static constexpr int kTileElements = kM * kHeadDim;
};

/// Tiles of queries of one head.
template <int kHeadDim>
std::int64_t query_tiles(const Problem& problem) {
  constexpr std::int64_t kM = Tiling<kHeadDim>::kM;
  return (problem.seqlen_q + kM - 1) / kM;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
