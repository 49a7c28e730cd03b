// The products of one tile of queries with one tile of keys, from which every gradient starts.
#pragma once

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

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
