// What follows from the sizes that a family's tables give.
#pragma once

#include "kernels/matrix/arguments.h"
#include "kernels/matrix/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// Sizes of the backward's tiles, a row of a family's table.
struct BackwardSizes {
  int m;             // queries of a tile
  int owner_blocks;  // of 16 keys, that a wave owns
  int key_waves;     // waves side by side over the keys
  int column_waves;  // that share the keys: each has S and dP of them all, and its part of the columns of dV,
                     // dK
  int stages;        // tiles of Q and of dO in shared memory
  int dq_query_waves;  // waves side by side over the queries, for dQ; the others over its columns
  bool key_registers;  // K, V and K^T are in registers, not in shared memory
  bool loads_late;     // tiles are loaded when the last ones are done with, not held in registers meanwhile
  int workgroups;      // on a multiprocessor, or waves a SIMD on AMD, that registers are to be left for
  bool keeps_addresses = false;  // of shared memory in registers, from tile to tile, on AMD
};

/// Those of head dimension kHeadDim: U is the unit, kSizes the row.
template <class U, int kHeadDimension, BackwardSizes kSizes>
struct Backward {
  using Unit = U;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kM = kSizes.m;
  static constexpr int kOwnerBlocks = kSizes.owner_blocks;
  static constexpr int kKeyWaves = kSizes.key_waves;
  static constexpr int kColumnWaves = kSizes.column_waves;
  static constexpr int kStages = kSizes.stages;
  static constexpr bool kKeysInRegisters = kSizes.key_registers;
  static constexpr bool kLoadsLate = kSizes.loads_late;
  static constexpr int kWorkgroups = kSizes.workgroups;
  /// Where every key has a scale too, two workgroups leave no registers for it.
  static constexpr bool kKeepsAddresses =
      kSizes.keeps_addresses && !(kWorkgroups > 1 && Unit::kScalesInputs && flushes_halves(nullptr));

  static constexpr int kWaves = kKeyWaves * kColumnWaves;
  static constexpr int kThreads = kWaves * Unit::kWave;
  static constexpr int kWaveKeys = 16 * kOwnerBlocks;
  static constexpr int kN = kKeyWaves * kWaveKeys;
  static constexpr int kWalkBlocks = kM / 16;
  static constexpr int kDepthBlocks = Unit::kDepth / 16;
  static constexpr int kChunks = kM / Unit::kDepth;       // of walked rows
  static constexpr int kSteps = kHeadDim / Unit::kDepth;  // over the columns
  static constexpr int kKeySteps = kN / Unit::kDepth;
  // dV and dK of a wave
  static constexpr int kColumns = kHeadDim / kColumnWaves;
  static constexpr int kGroup = Unit::kGroup;
  static constexpr int kGroups = kColumns / 16 / kGroup;
  // dQ of a wave
  static constexpr int kDqQueryWaves = kSizes.dq_query_waves;
  static constexpr int kDqColumnWaves = kWaves / kDqQueryWaves;
  static constexpr int kDqRowBlocks = kM / 16 / kDqQueryWaves;
  static constexpr int kDqColumns = kHeadDim / kDqColumnWaves;
  static constexpr int kDqGroup = kDqColumns / 16 < kGroup ? kDqColumns / 16 : kGroup;
  static constexpr int kDqGroups = kDqColumns / 16 / kDqGroup;
  static constexpr int kDqWaveFloats = kM * kHeadDim / kWaves;

  static_assert(kM % Unit::kDepth == 0 && kN % Unit::kDepth == 0 && kHeadDim % (16 * kGroup) == 0);
  static_assert(!Unit::kCopiesAsync || (kStages > 1 && !kLoadsLate));
  static_assert(2 * kM <= kThreads);
  static_assert(kGroups > 0 && kDqRowBlocks > 0 && kDqGroups > 0);
  static_assert(kDqRowBlocks * 16 * kDqQueryWaves == kM && kDqColumns * kDqColumnWaves == kHeadDim);

  using QueryTile = Tile<Unit, kHeadDim>;  // kM rows: Q, dO
  using KeyTile = Tile<Unit, kHeadDim>;    // kN rows: K, V
  using DsTile = typename Unit::template DsTile<kN, kM>;

  // Shared memory, in bytes.
  static constexpr int kQueryTileBytes = kM * kHeadDim * 2;
  static constexpr int kKeyTileBytes = kN * kHeadDim * 2;
  static constexpr int kDsTileBytes = kM * kN * 2;
  static constexpr int kRowBytes = kM * 4;  // LSE, or D, of a tile
  static constexpr int kDOAt = kStages * kQueryTileBytes;
  static constexpr int kDsAt = kDOAt + kStages * kQueryTileBytes;
  static constexpr int kKAt = kDsAt + 2 * kDsTileBytes;
  static constexpr int kVAt = kKAt + (kKeysInRegisters ? 0 : kKeyTileBytes);
  static constexpr int kLseAt = kVAt + (kKeysInRegisters ? 0 : kKeyTileBytes);
  static constexpr int kDAt = kLseAt + kStages * kRowBytes;
  static constexpr int kSeenByAt =
      kDAt + kStages * kRowBytes;  // [2][kN]: the first query, and one past the last
  static constexpr int kSmallDsAt = kSeenByAt + (Unit::kNotesMasks ? 2 * kN * 4 : 0);  // SplitDs's flags
  static constexpr int kSharedBytes = kSmallDsAt + (Unit::kScalesInputs ? kWaves * 4 : 0);
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
