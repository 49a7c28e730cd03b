// Backward stage 2, the gradient of an elementwise bias:
//
//   dBias = dS = P (Z dP - D), summed over the sequences and heads that share the bias
//
// with P and Z from kernels/plain/scores.h and dP = dO V^T.
//
// Tiling (kernels/plain/tile.h): a workgroup owns 32 x 32 elements of dBias and computes the two products of
// these pairs for every sequence and head that shares them, in their order. What no query sees, or is beyond
// a sequence's own lengths, is 0.
//
// Budget: 12 floats of Q.K, dO.V and dBias a thread, 27.1 KB of shared memory. Two products a pair.
#include "kernels/plain/scores.h"
#include "kernels/plain/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {
namespace {

/// sums[i][j] += dS of the pairs of one head of sequence `index`.
__device__ __forceinline__ void add_pairs(const Arguments& a, SharedTiles& shared, int index, int head,
                                          int first_query, int first_key, float (&sums)[kOwn][kOwn]) {
  const Sequence sequence = a.sequence(index);
  const auto q = a.queries(a.q, sequence, head, a.hdim_q);
  const auto d_o = a.queries(a.d_o, sequence, head, a.hdim_v);
  const auto k = a.keys(a.k, sequence, a.key_head(head), a.hdim_q);
  const auto v = a.keys(a.v, sequence, a.key_head(head), a.hdim_v);
  if (first_query >= q.rows) return;
  const Mask mask(a.mask, q.rows, k.rows);
  const Range keys = mask.keys_of(tile_range(first_query, q.rows));
  if (keys.empty() || keys.end <= first_key || first_key + kTile <= keys.begin) return;

  float dots[kOwn][kOwn];
  float dp[kOwn][kOwn];
  dot_rows(shared, q, first_query, k, first_key, dots);
  dot_rows(shared, d_o, first_query, v, first_key, dp);
  const HeadScores scores(a, sequence, index, head);
  const auto lse = a.queries(a.lse, sequence, head, 1);
  const auto d = a.queries(a.d, sequence, head, 1);
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const int query = first_query + thread_row() + kSide * i;
    if (query >= q.rows) break;
    const Range visible = mask.visible_keys(query);
    FMHA_BWD_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      const int key = first_key + thread_column() + kSide * j;
      if (!visible.contains(key)) continue;
      sums[i][j] += scores.gradients(dots[i][j], dp[i][j], *lse.row(query), *d.row(query), query, key).ds;
    }
  }
}

__global__ __launch_bounds__(kThreads, 2) void dbias_kernel(Arguments a) {
  HIP_DYNAMIC_SHARED(SharedTiles, shared)
  const auto [bias_index, bias_head, first] = own_rows(a.bias_batch, a.bias_heads, 1);
  const auto key_tiles = static_cast<int>(divided_up(a.seqlen_k, kTile));
  const int first_query = first / key_tiles * kTile;
  const int first_key = first % key_tiles * kTile;

  float sums[kOwn][kOwn] = {};
  for (int index = 0; index < a.batch; ++index) {
    if (a.bias_batch > 1 && index != bias_index) continue;
    for (int head = 0; head < a.nhead_q; ++head) {
      if (a.bias_heads > 1 && head != bias_head) continue;
      add_pairs(a, *shared, index, head, first_query, first_key, sums);
    }
  }

  const std::int64_t plane = static_cast<std::int64_t>(bias_index) * a.bias_heads + bias_head;
  float* const dbias = a.dbias + plane * a.seqlen_q * a.seqlen_k;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    FMHA_BWD_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      const int query = first_query + thread_row() + kSide * i;
      const int key = first_key + thread_column() + kSide * j;
      if (query < a.seqlen_q && key < a.seqlen_k) dbias[query * a.seqlen_k + key] = sums[i][j];
    }
  }
}

}  // namespace

void launch_dbias(const Arguments& a, hipStream_t stream) {
  const std::int64_t tiles = divided_up(a.seqlen_q, kTile) * divided_up(a.seqlen_k, kTile);
  launch(dbias_kernel, tiles * a.bias_batch * a.bias_heads, sizeof(SharedTiles), stream, a);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
