// What the units of AMD's GPUs share: the owner row, and the column of a result, are the lane's number in 16.
#pragma once

#include "kernels/matrix/transpose.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// The base of Unit, which has rows(), row() and depth_row().
template <class Unit, class T, int kWaveSize>
class AmdUnit {
 public:
  using Element = T;
  static constexpr int kWave = kWaveSize;
  static constexpr int kOwners = 1;
  static constexpr bool kNotesMasks = true;
  // For the sequence: nvcc spills where it is kept, clang where it is not.
  static constexpr bool kAsksAgain = false;
  static constexpr bool kCopiesAsync = false;
  static constexpr bool kAdjacentSums = false;

  // dS of a tile is [queries, keys].
  template <int kKeys, int kQueries>
  using DsTile = Tile<Unit, kKeys>;

  __device__ __forceinline__ explicit AmdUnit(int lane) : lane_(lane) {}
  __device__ __forceinline__ int lane() const { return lane_; }

  // Loads of tiles go through registers.
  __device__ static __forceinline__ void commit_loads() {}
  __device__ static __forceinline__ void wait_for_loads() {}

  __device__ static __forceinline__ constexpr int owner_index(int /*r*/) { return 0; }
  __device__ __forceinline__ int owner(int /*index*/) const { return lane_ % 16; }
  /// Adjacent in a lane.
  template <int kBlocks>
  __device__ static __forceinline__ int owner_row(int block, int index) {
    return kBlocks * index + block;
  }
  template <int kBlocks>
  __device__ __forceinline__ int column(int block, int /*r*/) const {
    return lane_ % 16 * kBlocks + block;
  }
  __device__ __forceinline__ int walked(int r) const { return unit().row(r); }

  template <int kColumns>
  __device__ __forceinline__ auto walked_rows(const Tile<Unit, kColumns>& tile, int first_row,
                                              int step) const {
    return unit().rows(tile, first_row, step);
  }
  template <int kColumns>
  __device__ __forceinline__ auto ds_rows(const Tile<Unit, kColumns>& tile, int first_query, int step) const {
    return unit().rows(tile, first_query, step);
  }
  template <bool kOfScores, class Operand, int kBlocks, int kColumns>
  __device__ __forceinline__ void columns(Operand (&operands)[kBlocks], const Tile<Unit, kColumns>& tile,
                                          int first_row, int first_column) const {
    read_columns<kOfScores>(unit(), operands, tile, first_row, first_column);
  }

  __device__ __forceinline__ float of_row(const float (&values)[kOwners], int r) const {
    return __shfl(values[0], unit().row(r));
  }

 private:
  __device__ __forceinline__ const Unit& unit() const { return static_cast<const Unit&>(*this); }

  int lane_;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
