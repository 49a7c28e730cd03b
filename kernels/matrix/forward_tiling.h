// Sizes of the forward's tiles.
#pragma once

#include "kernels/matrix/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

template <class U, int kHeadDimension>
struct Forward {
  using Unit = U;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kWaves = 4;
  static constexpr int kThreads = kWaves * Unit::kWave;
  static constexpr bool kKeepsAddresses = false;
  static constexpr int kM = 16 * kWaves;
  static constexpr int kN = 32;
  static constexpr int kBlocks = kN / 16;
  static constexpr int kDepthBlocks = Unit::kDepth / 16;
  static constexpr int kChunks = kN / Unit::kDepth;
  static constexpr int kSteps = kHeadDim / Unit::kDepth;
  static constexpr int kGroup = Unit::kGroup;
  static constexpr int kGroups = kHeadDim / 16 / kGroup;
  using Rows = Tile<Unit, kHeadDim>;
  static constexpr int kKAt = kM * kHeadDim * 2;
  static constexpr int kVAt = kKAt + kN * kHeadDim * 2;
  static constexpr int kSharedBytes = kVAt + kN * kHeadDim * 2;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
