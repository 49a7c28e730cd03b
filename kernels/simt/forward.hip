// Attention forward: the O and LSE that the backward takes as inputs.
//
//   P = softmax(mask(S)),  O = keep P V,  LSE = log sum exp of a row's visible scores and its head's sink
//
// with S and keep from kernels/scores.h; S = scale Q K^T and keep = 1 in a plain problem.
//
// Tiling: a workgroup owns kM = 64 queries of one head and walks over the tiles of kN = 64 keys that any of
// them sees, with a running maximum m and sum l of each row (online softmax; Milakov and Gimelshein,
// arXiv:1805.02867). O stays in registers, unnormalised: kM x hdim_v floats over 256 threads. A row whose
// keys are all masked keeps m = -inf and l = 0 and ends as O = 0, LSE = -inf. A sink joins the sum at the
// end.
//
// Budget at hdim_v 128: 32 floats of O and 16 of S a thread; shared memory 34.8 KB: one score tile of P, and
// one V tile that the Q and K parts of the score product use before it.
//
// Why it is not slow: every product is register-blocked 4 x 4 out of shared memory, masked tiles are skipped,
// and the longest tiles of a causal problem start first.
#include "kernels/hip_check.h"
#include "kernels/scores.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

constexpr int kM = 64;
constexpr int kN = 64;
constexpr int kI = kM / kSide;
constexpr int kJ = kN / kSide;
constexpr int kSharedFloats = tile_floats(kM, kN) + tile_floats(kN, kWidth);
static_assert(tile_floats(kM, kDepth) + tile_floats(kN, kDepth) <= kSharedFloats);

template <class T>
struct ForwardArguments {
  View<const T> q;  // [batch, nhead_q, seqlen_q, hdim_q]
  View<const T> k;  // [batch, nhead_k, seqlen_k, hdim_q]
  View<const T> v;  // [batch, nhead_k, seqlen_k, hdim_v]
  View<T> o;        // [batch, nhead_q, seqlen_q, hdim_v]
  View<float> lse;  // [batch, nhead_q, seqlen_q, 1]
  Scores<T> scores;
  SequenceTable sequences;
  MaskRule mask;
  int batch;
  int nhead_q;
  int group_size;
};

template <class T, int kHeadDim>
__global__ __launch_bounds__(kThreads, workgroups_for(kHeadDim)) void forward_kernel(ForwardArguments<T> a) {
  constexpr int kParts = kHeadDim / kWidth;
  HIP_DYNAMIC_SHARED(float4, shared)
  float* const p_tile = reinterpret_cast<float*>(shared);  // [kM, kN]
  float* const v_tile = p_tile + tile_floats(kM, kN);      // [kN, kWidth]
  float* const q_part = reinterpret_cast<float*>(shared);  // [kM, kDepth], before P
  float* const k_part = q_part + tile_floats(kM, kDepth);  // [kN, kDepth]
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const int tx = static_cast<int>(threadIdx.x) % kSide;

  const auto heads = static_cast<unsigned>(a.batch * a.nhead_q);
  const int batch = static_cast<int>(blockIdx.x % heads) / a.nhead_q;
  const int head = static_cast<int>(blockIdx.x % heads) % a.nhead_q;
  const Sequence sequence = a.sequences.at(batch);
  const auto seqlen_q = static_cast<int>(sequence.seqlen_q);
  const auto seqlen_k = static_cast<int>(sequence.seqlen_k);
  // The last rows see the most keys.
  const int first_query = ((seqlen_q + kM - 1) / kM - 1 - static_cast<int>(blockIdx.x / heads)) * kM;
  if (first_query < 0) return;
  const Mask mask(a.mask, seqlen_q, seqlen_k);
  const auto q = a.q.queries(sequence, head);
  const auto k = a.k.keys(sequence, head / a.group_size);
  const auto v = a.v.keys(sequence, head / a.group_size);

  float o[kParts][kI][4] = {};
  float row_maximum[kI];
  float sum[kI];
  Range visible[kI];
  FMHA_BWD_UNROLL
  for (int i = 0; i < kI; ++i) {
    const int query = first_query + ty + kSide * i;
    row_maximum[i] = -INFINITY;
    sum[i] = 0.0F;
    visible[i] = query < seqlen_q ? mask.visible_keys(query) : Range{};
  }

  const int end_query = first_query + kM < seqlen_q ? first_query + kM : seqlen_q;
  const Tiles keys(mask.keys_of({first_query, end_query}), kN);
  for (int first_key = keys.begin; first_key < keys.end; first_key += kN) {
    float s[kI][kJ] = {};
    for (int column = 0; column < q.columns; column += kDepth) {
      __syncthreads();
      load_tile<kM, kDepth>(q_part, q, first_query, column);
      load_tile<kN, kDepth>(k_part, k, first_key, column);
      __syncthreads();
      multiply_abt(q_part, k_part, s);
    }
    __syncthreads();

    float keep[kI][kJ];
    FMHA_BWD_UNROLL
    for (int i = 0; i < kI; ++i) {
      FMHA_BWD_UNROLL
      for (int j = 0; j < kJ; ++j) keep[i][j] = 1.0F;
    }
    if (a.scores.plain) {
      FMHA_BWD_UNROLL
      for (int i = 0; i < kI; ++i) {
        FMHA_BWD_UNROLL
        for (int j = 0; j < kJ; ++j) s[i][j] *= a.scores.scale;
      }
    } else {
      const HeadScores<T> scores = a.scores.of(HeadPlace(batch, head, a.mask, seqlen_q, seqlen_k));
      FMHA_BWD_UNROLL
      for (int i = 0; i < kI; ++i) {
        const int query = first_query + ty + kSide * i;
        FMHA_BWD_UNROLL
        for (int j = 0; j < kJ; ++j) {
          const int key = first_key + tx + kSide * j;
          if (!visible[i].contains(key)) continue;
          s[i][j] = scores.score(s[i][j], query, key);
          keep[i][j] = scores.keep(query, key);
        }
      }
    }

    FMHA_BWD_UNROLL
    for (int i = 0; i < kI; ++i) {
      const Columns columns(visible[i], first_key);
      float tile_max = -INFINITY;
      FMHA_BWD_UNROLL
      for (int j = 0; j < kJ; ++j) {
        if (!columns.contains(tx + kSide * j)) s[i][j] = -INFINITY;
        tile_max = fmaxf(tile_max, s[i][j]);
      }
      const float new_max = fmaxf(row_maximum[i], row_max(tile_max));
      const float base = new_max == -INFINITY ? 0.0F : new_max;
      const float shrink = expf(row_maximum[i] - base);
      float tile_sum = 0.0F;
      FMHA_BWD_UNROLL
      for (int j = 0; j < kJ; ++j) {
        const float p = expf(s[i][j] - base);
        tile_sum += p;
        p_tile[(ty + kSide * i) * (kN + kPad) + tx + kSide * j] = p * keep[i][j];
      }
      sum[i] = sum[i] * shrink + row_sum(tile_sum);
      row_maximum[i] = new_max;
      FMHA_BWD_UNROLL
      for (int part = 0; part < kParts; ++part) {
        FMHA_BWD_UNROLL
        for (int j = 0; j < 4; ++j) o[part][i][j] *= shrink;
      }
    }

    FMHA_BWD_UNROLL
    for (int part = 0; part < kParts; ++part) {
      if (part * kWidth >= v.columns) break;
      load_tile<kN, kWidth>(v_tile, v, first_key, part * kWidth);
      __syncthreads();
      multiply_ab<kI, kN>(p_tile, v_tile, o[part]);
      if (part + 1 < kParts) __syncthreads();
    }
  }

  const auto to = a.o.queries(sequence, head);
  const auto lse = a.lse.queries(sequence, head);
  FMHA_BWD_UNROLL
  for (int i = 0; i < kI; ++i) {
    const int query = first_query + ty + kSide * i;
    float shrink = 1.0F;
    if (a.scores.sink != nullptr) {
      const float sink = a.scores.sink[head];
      const float before = row_maximum[i];
      row_maximum[i] = fmaxf(before, sink);
      const float base = row_maximum[i] == -INFINITY ? 0.0F : row_maximum[i];
      shrink = expf(before - base);
      sum[i] = sum[i] * shrink + expf(sink - base);
    }
    const float inverse = sum[i] > 0.0F ? shrink / sum[i] : (sum[i] == 0.0F ? 0.0F : NAN);
    FMHA_BWD_UNROLL
    for (int part = 0; part < kParts; ++part)
      store_row(to, query, part * kWidth + 4 * tx, o[part][i], inverse);
    if (tx == 0 && query < seqlen_q) {
      *lse.row(query) = sum[i] == 0.0F ? -INFINITY : row_maximum[i] + logf(sum[i]);
    }
  }
}

}  // namespace

void launch_forward(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  const std::int64_t blocks = divided_up(p.seqlen_q, kM) * p.batch * p.nhead_q;
  with_element_type(p.dtype, [&]<class T>() {
    const ForwardArguments<T> arguments = {view_of<const T>(t.q, TensorId::q, p),
                                           view_of<const T>(t.k, TensorId::k, p),
                                           view_of<const T>(t.v, TensorId::v, p),
                                           view_of<T>(t.o, TensorId::o, p),
                                           view_of<float>(t.lse, TensorId::lse, p),
                                           scores_of<T>(p, t),
                                           sequence_table(p, t),
                                           mask,
                                           static_cast<int>(p.batch),
                                           static_cast<int>(p.nhead_q),
                                           static_cast<int>(p.group_size())};
    with_head_dim(p.hdim_v, [&]<int kHeadDim>() {
      launch(forward_kernel<T, kHeadDim>, blocks, kSharedFloats, stream, arguments);
    });
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
