// One tile of queries with one tile of keys: the products, and what each pair contributes to the gradients.
#pragma once

#include "kernels/scores.h"
#include "kernels/simt/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {

/// Floats in shared memory that multiply_pair uses.
constexpr int pair_floats(int m, int n) { return 2 * tile_floats(m, kDepth) + 2 * tile_floats(n, kDepth); }

/// s[i][j] = Q K^T and dp[i][j] = dO V^T of query first_query + ty + 16 i and key first_key + tx + 16 j, from
/// kDepth columns at a time in `shared`, which may be written again afterwards. Waits for all threads before
/// it writes there.
template <int kM, int kN, class T>
__device__ __forceinline__ void multiply_pair(float* shared, const Rows<const T>& q, const Rows<const T>& k,
                                              const Rows<const T>& v, const Rows<const T>& d_o,
                                              int first_query, int first_key,
                                              float (&s)[kM / kSide][kN / kSide],
                                              float (&dp)[kM / kSide][kN / kSide]) {
  float* const q_part = shared;                              // [kM, kDepth]
  float* const d_o_part = q_part + tile_floats(kM, kDepth);  // [kM, kDepth]
  float* const k_part = d_o_part + tile_floats(kM, kDepth);  // [kN, kDepth]
  float* const v_part = k_part + tile_floats(kN, kDepth);    // [kN, kDepth]
  const int columns = k.columns > v.columns ? k.columns : v.columns;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kM / kSide; ++i) {
    FMHA_BWD_UNROLL
    for (int j = 0; j < kN / kSide; ++j) s[i][j] = dp[i][j] = 0.0F;
  }
  for (int column = 0; column < columns; column += kDepth) {
    __syncthreads();
    if (column < k.columns) {
      load_tile<kM, kDepth>(q_part, q, first_query, column);
      load_tile<kN, kDepth>(k_part, k, first_key, column);
    }
    if (column < v.columns) {
      load_tile<kM, kDepth>(d_o_part, d_o, first_query, column);
      load_tile<kN, kDepth>(v_part, v, first_key, column);
    }
    __syncthreads();
    if (column < k.columns) multiply_abt(q_part, k_part, s);
    if (column < v.columns) multiply_abt(d_o_part, v_part, dp);
  }
  __syncthreads();
}

/// What the pairs of one query need besides the products: its LSE and D, and the keys that it sees.
struct alignas(16) RowFacts {
  float lse;
  float d;
  int begin;
  int end;
};

/// Floats in shared memory of the facts of `rows` rows.
constexpr int facts_floats(int rows) { return rows * static_cast<int>(sizeof(RowFacts) / sizeof(float)); }

/// facts[r] of query first_query + r, for kM of them, one thread each; a query past the end sees no key.
/// Nobody may still read the facts, nor read the new ones before all threads have met.
template <int kM>
__device__ __forceinline__ void note_rows(RowFacts* facts, const MaskRule& rule, int seqlen_k,
                                          const Rows<const float>& lse, const Rows<const float>& d,
                                          int first_query) {
  static_assert(kM <= kThreads);
  const auto row = static_cast<int>(threadIdx.x);
  if (row >= kM) return;
  const int query = first_query + row;
  RowFacts fact = {};
  if (query < lse.rows) {
    const Range keys = Mask(rule, lse.rows, seqlen_k).visible_keys(query);
    fact = {*lse.row(query), *d.row(query), static_cast<int>(keys.begin), static_cast<int>(keys.end)};
  }
  facts[row] = fact;
}

/// p_tile[r][c] = P keep and ds_tile[r][c] = one of PairGradients' others, for query first_query + r and key
/// first_key + c, from the products of multiply_pair; 0 where the query does not see the key. Each thread
/// writes the elements of its own s and dp, and reads none of another's.
template <float PairGradients::*kGradient, int kI, int kJ, class T>
__device__ __forceinline__ void differentiate_pair(const Scores<T>& scores, const HeadPlace& head,
                                                   const RowFacts* facts, int first_query, int first_key,
                                                   const float (&s)[kI][kJ], const float (&dp)[kI][kJ],
                                                   float* p_tile, float* ds_tile) {
  constexpr int kStride = kSide * kJ + kPad;
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kI; ++i) {
    const RowFacts row = facts[ty + kSide * i];
    FMHA_BWD_UNROLL
    for (int j = 0; j < kJ; ++j) {
      const int key = first_key + tx + kSide * j;
      const int at = (ty + kSide * i) * kStride + tx + kSide * j;
      if (scores.plain) {
        const float p = row.begin <= key && key < row.end ? expf(s[i][j] * scores.scale - row.lse) : 0.0F;
        p_tile[at] = p;
        ds_tile[at] = p * (dp[i][j] - row.d);
      } else {
        p_tile[at] = s[i][j];
        ds_tile[at] = dp[i][j];
      }
    }
  }
  if (scores.plain) return;

  // In place and not unrolled: the other scores take many registers and much code.
  const HeadScores<T> of_head = scores.of(head);
  FMHA_BWD_UNROLL_BY(1)
  for (int n = 0; n < kI * kJ; ++n) {
    const int row = ty + kSide * (n / kJ);
    const int column = tx + kSide * (n % kJ);
    const RowFacts fact = facts[row];
    const int key = first_key + column;
    const int at = row * kStride + column;
    PairGradients pair = {};
    if (fact.begin <= key && key < fact.end) {
      pair = of_head.gradients(p_tile[at], ds_tile[at], fact.lse, fact.d, first_query + row, key);
    }
    p_tile[at] = pair.p;
    ds_tile[at] = pair.*kGradient;
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
