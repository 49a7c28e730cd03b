// The products of the backward's stage 2, of one wave. Arrays are of blocks of 16 x 16: scores
// [blocks of owner rows][chunks of kDepth walked rows][blocks of a chunk], results
// [blocks of owner rows][groups of columns][blocks of a group].
#pragma once

#include "kernels/matrix/tiling.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// scores += the owner's rows times those of a tile: S of K and Q, dP of V and dO. `owner_rows(b, step)` is
/// the operand of block b, columns Unit::kDepth * step on.
template <class Unit, int kBlocks, int kChunks, int kDepthBlocks, int kColumns, class OwnerRows>
__device__ __forceinline__ void add_scores(const Unit& unit,
                                           float (&scores)[kBlocks][kChunks][kDepthBlocks][Unit::kSums],
                                           const OwnerRows& owner_rows, const Tile<Unit, kColumns>& tile) {
  using Operand = typename Unit::Operand;
  FMHA_BWD_UNROLL
  for (int step = 0; step < kColumns / Unit::kDepth; ++step) {
    Operand owners[kBlocks];
    FMHA_BWD_UNROLL
    for (int b = 0; b < kBlocks; ++b) owners[b] = owner_rows(b, step);
    FMHA_BWD_UNROLL
    for (int w = 0; w < kChunks * kDepthBlocks; ++w) {
      const Operand walked = unit.walked_rows(tile, 16 * w, step);
      FMHA_BWD_UNROLL
      for (int b = 0; b < kBlocks; ++b) {
        float(&sums)[Unit::kSums] = scores[b][w / kDepthBlocks][w % kDepthBlocks];
        Unit::multiply_scores(sums, owners[b], walked);
        Unit::finish_here(sums);
      }
    }
  }
}

/// sums += left times kDepth rows of a tile from first_row on, columns from first_column on: dV of P and dO,
/// dK of dS and Q.
template <class Unit, int kBlocks, int kGroups, int kGroup, int kColumns>
__device__ __forceinline__ void add_weighted_rows(const Unit& unit,
                                                  float (&sums)[kBlocks][kGroups][kGroup][Unit::kSums],
                                                  const typename Unit::Operand (&left)[kBlocks],
                                                  const Tile<Unit, kColumns>& tile, int first_row,
                                                  int first_column) {
  FMHA_BWD_UNROLL
  for (int group = 0; group < kGroups; ++group) {
    typename Unit::Operand right[kGroup];
    unit.template columns<true>(right, tile, first_row, first_column + group * 16 * kGroup);
    FMHA_BWD_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int t = 0; t < kGroup; ++t) {
        Unit::multiply(sums[b][group][t], left[b], right[t]);
        Unit::finish_here(sums[b][group][t]);
      }
    }
  }
}

/// A wave's part of dQ of a tile of queries.
template <class B>
using DqSums = float[B::kDqRowBlocks][B::kDqGroups][B::kDqGroup][B::Unit::kSums];

/// dq += dS K. `k_columns` (operands, step, group) reads K.
template <class B, class KColumns>
__device__ __forceinline__ void add_ds_k(const typename B::Unit& unit, DqSums<B>& dq,
                                         const typename B::DsTile& ds, int wave, const KColumns& k_columns) {
  using Unit = typename B::Unit;
  using Operand = typename Unit::Operand;
  const int first_query = wave / B::kDqColumnWaves * 16 * B::kDqRowBlocks;
  FMHA_BWD_UNROLL
  for (int step = 0; step < B::kKeySteps; ++step) {
    Operand left[B::kDqRowBlocks];
    FMHA_BWD_UNROLL
    for (int i = 0; i < B::kDqRowBlocks; ++i) left[i] = unit.ds_rows(ds, first_query + 16 * i, step);
    FMHA_BWD_UNROLL
    for (int group = 0; group < B::kDqGroups; ++group) {
      Operand right[B::kDqGroup];
      k_columns(right, step, group);
      FMHA_BWD_UNROLL
      for (int i = 0; i < B::kDqRowBlocks; ++i) {
        FMHA_BWD_UNROLL
        for (int t = 0; t < B::kDqGroup; ++t) {
          Unit::multiply(dq[i][group][t], left[i], right[t]);
          Unit::finish_here(dq[i][group][t]);
        }
      }
    }
  }
}

/// Adds them to their place in the accumulator.
template <class B>
__device__ __forceinline__ void accumulate(const typename B::Unit& unit, const DqSums<B>& dq, float* block) {
  using Unit = typename B::Unit;
  FMHA_BWD_UNROLL
  for (int i = 0; i < B::kDqRowBlocks; ++i) {
    FMHA_BWD_UNROLL
    for (int group = 0; group < B::kDqGroups; ++group) {
      FMHA_BWD_UNROLL
      for (int t = 0; t < B::kDqGroup; ++t) {
        add_to_global<Unit::kWave>(block, unit.lane(), dq[i][group][t]);
        block += 256;
      }
    }
  }
}

/// Adds the wave's part of dS K, of a tile of queries, to its place in the accumulator: `block`.
template <class B, class KColumns>
__device__ __forceinline__ void add_dq(const typename B::Unit& unit, const typename B::DsTile& ds, int wave,
                                       const KColumns& k_columns, float* block) {
  DqSums<B> dq = {};
  add_ds_k<B>(unit, dq, ds, wave, k_columns);
  accumulate<B>(unit, dq, block);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
