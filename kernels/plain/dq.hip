// Backward stage 2:  dQ = scale dX K.
//
// dX = P (Z dP - D) dS/dx, with P, Z and dS/dx from kernels/plain/scores.h and dP = dO V^T.
//
// Tiling (kernels/plain/tile.h): a workgroup owns 32 queries of one head and walks over the tiles of 32 keys
// that any of them sees. Q.K and dO.V of the pairs come from 32 columns at a time, dX goes to shared memory,
// and dQ is added up in registers, in the order of the keys. Three products a pair.
//
// Budget at hdim_q 128: 16 floats of dQ and 8 of Q.K and dO.V a thread, 27.1 KB of shared memory.
#include "kernels/plain/scores.h"
#include "kernels/plain/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {
namespace {

template <int kParts>
__global__ __launch_bounds__(kThreads, workgroups_for(kParts)) void dq_kernel(Arguments a) {
  HIP_DYNAMIC_SHARED(SharedTiles, shared)
  const int ty = thread_row();
  const int tx = thread_column();
  const auto [index, head, first_query] = own_rows(a.batch, a.nhead_q, kTile);
  const Sequence sequence = a.sequence(index);
  const auto q = a.queries(a.q, sequence, head, a.hdim_q);
  const auto d_o = a.queries(a.d_o, sequence, head, a.hdim_v);
  const auto k = a.keys(a.k, sequence, a.key_head(head), a.hdim_q);
  const auto v = a.keys(a.v, sequence, a.key_head(head), a.hdim_v);
  if (first_query >= q.rows) return;
  const Mask mask(a.mask, q.rows, k.rows);
  const HeadScores scores(a, sequence, index, head);

  float dq[kParts][kOwn][4] = {};
  float lse[kOwn] = {};
  float d[kOwn] = {};
  Span visible[kOwn] = {};
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const int query = first_query + ty + kSide * i;
    if (query >= q.rows) break;
    lse[i] = *a.queries(a.lse, sequence, head, 1).row(query);
    d[i] = *a.queries(a.d, sequence, head, 1).row(query);
    visible[i] = mask.visible_keys(query);
  }

  const Span keys = mask.keys_of(tile_range(first_query, q.rows));
  for (int first_key = first_tile(keys); first_key < keys.end; first_key += kTile) {
    float dots[kOwn][kOwn];
    float dp[kOwn][kOwn];
    dot_rows(*shared, q, first_query, k, first_key, dots);
    dot_rows(*shared, d_o, first_query, v, first_key, dp);
    FMHA_BWD_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const int query = first_query + ty + kSide * i;
      FMHA_BWD_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        const int key = first_key + tx + kSide * j;
        PairGradients pair = {};
        if (visible[i].contains(key)) {
          pair = scores.gradients(dots[i][j], dp[i][j], lse[i], d[i], query, key);
        }
        shared->dx[ty + kSide * i][tx + kSide * j] = pair.dx;
      }
    }
    add_product(*shared, shared->dx, k, first_key, dq);
  }
  store(a.queries(a.dq, sequence, head, a.hdim_q), first_query, dq, {a.scale, a.scale});
}

}  // namespace

void launch_dq(const Arguments& a, hipStream_t stream) {
  const std::int64_t blocks = divided_up(a.seqlen_q, kTile) * a.batch * a.nhead_q;
  with_parts(a.hdim_q,
             [&]<int kParts>() { launch(dq_kernel<kParts>, blocks, sizeof(SharedTiles), stream, a); });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
