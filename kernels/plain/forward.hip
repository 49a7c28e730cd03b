// Attention forward: the O and LSE that the backward takes as inputs.
//
//   O = (P Z) V,  LSE = log(sum exp(S) over the visible keys + exp(sink)),  P = exp(S - LSE)
//
// with S and Z from kernels/plain/scores.h.
//
// Tiling (kernels/plain/tile.h): a workgroup owns 32 queries of one head and walks over the tiles of 32 keys
// that any of them sees. Of each query it keeps the largest score so far, m, and l = sum exp(S - m); when m
// grows, l and O shrink by exp(old m - m) (Milakov and Gimelshein, arXiv:1805.02867). The sink is the first
// score, with no value of its own. A query that sees nothing ends with m = -infinity and l = 0: O = 0 and
// LSE = -infinity.
//
// Budget at hdim_v 128: 16 floats of O and 4 of S a thread, 27.1 KB of shared memory. Two products a pair.
#include "kernels/plain/scores.h"
#include "kernels/plain/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {
namespace {

/// What is subtracted from scores whose largest is `largest`: anything finite where all are -infinity.
__device__ __forceinline__ float base_of(float largest) { return largest == -INFINITY ? 0.0F : largest; }

template <int kParts>
__global__ __launch_bounds__(kThreads, workgroups_for(kParts)) void forward_kernel(Arguments a) {
  HIP_DYNAMIC_SHARED(SharedTiles, shared)
  const int ty = thread_row();
  const int tx = thread_column();
  const auto [index, head, first_query] = own_rows(a.batch, a.nhead_q, kTile);
  const Sequence sequence = a.sequence(index);
  const auto q = a.queries(a.q, sequence, head, a.hdim_q);
  const auto k = a.keys(a.k, sequence, a.key_head(head), a.hdim_q);
  const auto v = a.keys(a.v, sequence, a.key_head(head), a.hdim_v);
  if (first_query >= q.rows) return;
  const Mask mask(a.mask, q.rows, k.rows);
  const HeadScores scores(a, sequence, index, head);

  float o[kParts][kOwn][4] = {};
  float largest[kOwn];  // m
  float sum[kOwn];      // l
  Span visible[kOwn];
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const int query = first_query + ty + kSide * i;
    largest[i] = a.sink == nullptr ? -INFINITY : a.sink[head];
    sum[i] = expf(largest[i] - base_of(largest[i]));
    visible[i] = query < q.rows ? Span(mask.visible_keys(query)) : Span();
  }

  const Span keys = mask.keys_of(tile_range(first_query, q.rows));
  for (int first_key = first_tile(keys); first_key < keys.end; first_key += kTile) {
    float s[kOwn][kOwn];
    dot_rows(*shared, q, first_query, k, first_key, s);
    FMHA_BWD_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const int query = first_query + ty + kSide * i;
      float tile_largest = -INFINITY;
      FMHA_BWD_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        const int key = first_key + tx + kSide * j;
        s[i][j] = visible[i].contains(key) ? scores.score(s[i][j], query, key) : -INFINITY;
        tile_largest = fmaxf(tile_largest, s[i][j]);
      }
      const float new_largest = fmaxf(largest[i], row_largest(tile_largest));
      const float base = base_of(new_largest);
      float tile_sum = 0.0F;
      FMHA_BWD_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        const int key = first_key + tx + kSide * j;
        const float p = expf(s[i][j] - base);
        tile_sum += p;
        const float z = visible[i].contains(key) ? scores.keep(query, key) : 0.0F;
        shared->p[ty + kSide * i][tx + kSide * j] = p * z;
      }
      const float shrink = expf(largest[i] - base);
      sum[i] = sum[i] * shrink + row_total(tile_sum);
      largest[i] = new_largest;
      FMHA_BWD_UNROLL
      for (int part = 0; part < kParts; ++part) {
        FMHA_BWD_UNROLL
        for (int c = 0; c < 4; ++c) o[part][i][c] *= shrink;
      }
    }
    add_product(*shared, shared->p, v, first_key, o);
  }

  const auto lse = a.queries(a.lse, sequence, head, 1);
  float factors[kOwn];
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const int query = first_query + ty + kSide * i;
    factors[i] = sum[i] == 0.0F ? 0.0F : 1.0F / sum[i];
    if (tx == 0 && query < lse.rows) {
      *lse.row(query) = sum[i] == 0.0F ? -INFINITY : largest[i] + logf(sum[i]);
    }
  }
  store(a.queries(a.o, sequence, head, a.hdim_v), first_query, o, factors);
}

}  // namespace

void launch_forward(const Arguments& a, hipStream_t stream) {
  const std::int64_t blocks = divided_up(a.seqlen_q, kTile) * a.batch * a.nhead_q;
  with_parts(a.hdim_v,
             [&]<int kParts>() { launch(forward_kernel<kParts>, blocks, sizeof(SharedTiles), stream, a); });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
