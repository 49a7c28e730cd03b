// Backward stage 2:  dK = scale dX^T Q,  dV = (P Z)^T dO.
//
// dX = P (Z dP - D) dS/dx, with P, Z and dS/dx from kernels/plain/scores.h and dP = dO V^T.
//
// Tiling (kernels/plain/tile.h): a workgroup owns 32 keys of one key head and walks, for each query head of
// the group in turn, over the tiles of 32 queries that see any of them. All products are the transposed ones:
// K.Q and V.dO of the pairs from 32 columns at a time, (P Z)^T and dX^T to shared memory, dK and dV added up
// in registers. Four products a pair.
//
// Budget at hdim 128: 32 floats of dK and dV and 8 of K.Q and V.dO a thread (128 of dK and dV at 512), 28.2
// KB of shared memory.
#include "kernels/plain/scores.h"
#include "kernels/plain/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {
namespace {

template <int kParts>
__global__ __launch_bounds__(kThreads, workgroups_for(2 * kParts)) void dk_dv_kernel(Arguments a) {
  HIP_DYNAMIC_SHARED(SharedTiles, shared)
  const int ty = thread_row();
  const int tx = thread_column();
  const auto [index, key_head, first_key] = own_rows(a.batch, a.nhead_k, kTile);
  const Sequence sequence = a.sequence(index);
  const auto k = a.keys(a.k, sequence, key_head, a.hdim_q);
  const auto v = a.keys(a.v, sequence, key_head, a.hdim_v);
  if (first_key >= k.rows) return;
  const Mask mask(a.mask, sequence.seqlen_q, sequence.seqlen_k);

  float dk[kParts][kOwn][4] = {};
  float dv[kParts][kOwn][4] = {};
  Span seeing[kOwn] = {};  // the queries that see the thread's keys
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const int key = first_key + ty + kSide * i;
    if (key < k.rows) seeing[i] = mask.visible_queries(key);
  }

  const Span queries = mask.queries_of(tile_range(first_key, k.rows));
  const int group_size = a.nhead_q / a.nhead_k;
  for (int head = key_head * group_size; head < (key_head + 1) * group_size; ++head) {
    const auto q = a.queries(a.q, sequence, head, a.hdim_q);
    const auto d_o = a.queries(a.d_o, sequence, head, a.hdim_v);
    const auto lse = a.queries(a.lse, sequence, head, 1);
    const auto d = a.queries(a.d, sequence, head, 1);
    const HeadScores scores(a, sequence, index, head);
    for (int first_query = first_tile(queries); first_query < queries.end; first_query += kTile) {
      float dots[kOwn][kOwn];
      float dp[kOwn][kOwn];
      dot_rows(*shared, k, first_key, q, first_query, dots);
      dot_rows(*shared, v, first_key, d_o, first_query, dp);
      FMHA_BWD_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const int key = first_key + ty + kSide * i;
        FMHA_BWD_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          const int query = first_query + tx + kSide * j;
          PairGradients pair = {};
          if (seeing[i].contains(query)) {
            pair = scores.gradients(dots[i][j], dp[i][j], *lse.row(query), *d.row(query), query, key);
          }
          shared->p[ty + kSide * i][tx + kSide * j] = pair.pz;
          shared->dx[ty + kSide * i][tx + kSide * j] = pair.dx;
        }
      }
      add_product(*shared, shared->p, d_o, first_query, dv);
      add_product(*shared, shared->dx, q, first_query, dk);
    }
  }
  store(a.keys(a.dk, sequence, key_head, a.hdim_q), first_key, dk, {a.scale, a.scale});
  store(a.keys(a.dv, sequence, key_head, a.hdim_v), first_key, dv, {1.0F, 1.0F});
}

}  // namespace

void launch_dk_dv(const Arguments& a, hipStream_t stream) {
  const std::int64_t blocks = divided_up(a.seqlen_k, kTile) * a.batch * a.nhead_k;
  with_parts(a.hdim_q > a.hdim_v ? a.hdim_q : a.hdim_v,
             [&]<int kParts>() { launch(dk_dv_kernel<kParts>, blocks, sizeof(SharedTiles), stream, a); });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
