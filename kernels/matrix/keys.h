// A workgroup's own keys as operands: K and V by rows for the scores, K by columns for dQ.
#pragma once

#include "kernels/matrix/tiling.h"
#include "kernels/matrix/transpose.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// K and V in shared memory.
template <class B>
class SharedKeys {
  using Unit = typename B::Unit;
  using T = typename Unit::Element;
  using Operand = typename Unit::Operand;
  using Loader = TileLoader<B, B::kN>;

 public:
  __device__ __forceinline__ explicit SharedKeys(std::byte* shared)
      : k_{shared + B::kKAt}, v_{shared + B::kVAt} {}

  /// They are there when the first tile of queries is, if that is begun behind this.
  __device__ __forceinline__ void load(const Unit& /*unit*/, const Rows<const T>& k, const Rows<const T>& v,
                                       int first_key, int /*wave*/, const ScalesOf<Unit>& scales) {
    Loader loader;
    loader.begin(k_, k, first_key);
    loader.finish(k_, scales.k);
    loader.begin(v_, v, first_key);
    loader.finish(v_, scales.v);
  }

  /// Of block `block` of the wave's keys, columns Unit::kDepth * step on. `wave` counts over the keys.
  __device__ __forceinline__ Operand k_rows(const Unit& unit, int wave, int block, int step) const {
    return unit.rows(k_, wave * B::kWaveKeys + 16 * block, step);
  }
  __device__ __forceinline__ Operand v_rows(const Unit& unit, int wave, int block, int step) const {
    return unit.rows(v_, wave * B::kWaveKeys + 16 * block, step);
  }
  /// Of keys Unit::kDepth * step on, and group `group` of the columns from first_column on.
  __device__ __forceinline__ void k_columns(const Unit& unit, Operand (&operands)[B::kDqGroup], int step,
                                            int group, int first_column) const {
    unit.template columns<false>(operands, k_, Unit::kDepth * step, first_column + group * 16 * B::kDqGroup);
  }

 private:
  typename B::KeyTile k_;
  typename B::KeyTile v_;
};

/// K, V and the wave's columns of K for dQ in registers, for units whose lanes read rows by 16 bytes.
template <class B>
class RegisterKeys {
  using Unit = typename B::Unit;
  using T = typename Unit::Element;
  using Operand = typename Unit::Operand;
  static_assert(B::kColumnWaves == 1 && B::kDqQueryWaves == 1);

 public:
  __device__ __forceinline__ explicit RegisterKeys(std::byte* /*shared*/) {}

  __device__ __forceinline__ void load(const Unit& unit, const Rows<const T>& k, const Rows<const T>& v,
                                       int first_key, int wave, const ScalesOf<Unit>& scales) {
    const int lane = unit.lane();
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      const int key =
          first_key + wave * B::kWaveKeys + Unit::template owner_row<B::kOwnerBlocks>(b, unit.owner(0));
      FMHA_BWD_UNROLL
      for (int step = 0; step < B::kSteps; ++step) {
        const int column = Unit::kDepth * step + lane / 16 * kGranule;
        k_rows_[b][step] = granule_of(k, key, column, scales.k);
        v_rows_[b][step] = granule_of(v, key, column, scales.v);
      }
    }
    FMHA_BWD_UNROLL
    for (int step = 0; step < B::kKeySteps; ++step) {
      FMHA_BWD_UNROLL
      for (int group = 0; group < B::kDqGroups; ++group) {
        const int column = wave * B::kDqColumns + group * 16 * B::kDqGroup + lane % 16 * B::kDqGroup;
        std::uint32_t rows[2 * Unit::kWords][kWordsOf<B::kDqGroup>];
        FMHA_BWD_UNROLL
        for (int e = 0; e < 2 * Unit::kWords; ++e) {
          const int key = first_key + Unit::kDepth * step + unit.template depth_row<false>(e);
          FMHA_BWD_UNROLL
          for (std::uint32_t& word : rows[e]) word = 0;
          if (key < k.rows && column < k.columns) read_adjacent<B::kDqGroup>(rows[e], k.row(key) + column);
        }
        turn(k_columns_[step][group], rows);
        FMHA_BWD_UNROLL
        for (Operand& operand : k_columns_[step][group]) operand = scaled_operand(operand, scales.k);
      }
    }
  }

  __device__ __forceinline__ const Operand& k_rows(const Unit& /*unit*/, int /*wave*/, int block,
                                                   int step) const {
    return k_rows_[block][step];
  }
  __device__ __forceinline__ const Operand& v_rows(const Unit& /*unit*/, int /*wave*/, int block,
                                                   int step) const {
    return v_rows_[block][step];
  }
  __device__ __forceinline__ void k_columns(const Unit& /*unit*/, Operand (&operands)[B::kDqGroup], int step,
                                            int group, int /*first_column*/) const {
    FMHA_BWD_UNROLL
    for (int t = 0; t < B::kDqGroup; ++t) operands[t] = k_columns_[step][group][t];
  }

 private:
  __device__ static __forceinline__ Operand granule_of(const Rows<const T>& rows, int row, int column,
                                                       float factor) {
    const bool exists = row < rows.rows && column < rows.columns;
    return scaled_operand(
        Unit::operand_of(exists ? *reinterpret_cast<const uint4*>(rows.row(row) + column) : uint4{}), factor);
  }
  __device__ static __forceinline__ Operand scaled_operand(const Operand& operand, float factor) {
    if constexpr (Unit::kScalesInputs) {
      if (factor != 1.0F) {
        const std::uint32_t(&w)[4] = operand.words;
        return Unit::operand_of(scaled<T>(make_uint4(w[0], w[1], w[2], w[3]), factor));
      }
    }
    return operand;
  }

  Operand k_rows_[B::kOwnerBlocks][B::kSteps];
  Operand v_rows_[B::kOwnerBlocks][B::kSteps];
  Operand k_columns_[B::kKeySteps][B::kDqGroups][B::kDqGroup];
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
