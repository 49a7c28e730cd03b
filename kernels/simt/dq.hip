// Backward stage 2 of a deterministic problem, its dQ: every row is summed by one workgroup, in a fixed
// order.
//
//   dQ = scale dx K
//
// with dx from kernels/scores.h. Tiling: a workgroup owns kM = 64 queries of one head and walks over the
// tiles of kN = 64 keys that any of them sees; S and dP are computed again (dq_dk_dv.hip has them for its own
// tiles of keys), so that a deterministic backward has seven products instead of five, and no accumulator in
// memory. dQ stays in registers and is rounded once.
//
// Budget at hdim 128: 32 floats of dQ and 32 of S and dP a thread; shared memory 37.9 KB, which dx and one
// part of K take over from the parts of Q, K, dO and V.
#include "kernels/scores.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/pair.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

constexpr int kM = 64;
constexpr int kN = 64;
constexpr int kI = kM / kSide;
constexpr int kJ = kN / kSide;
constexpr int kSharedFloats = facts_floats(kM) + pair_floats(kM, kN);
static_assert(tile_floats(kM, kN) + tile_floats(kN, kWidth) <= pair_floats(kM, kN));
static_assert(kN == kWidth, "P is written where the part of K stands, and not used");

template <class T>
struct DqArguments {
  View<const T> q;        // [batch, nhead_q, seqlen_q, hdim_q]
  View<const T> k;        // [batch, nhead_k, seqlen_k, hdim_q]
  View<const T> v;        // [batch, nhead_k, seqlen_k, hdim_v]
  View<const T> d_o;      // [batch, nhead_q, seqlen_q, hdim_v]
  View<const float> lse;  // [batch, nhead_q, seqlen_q, 1]
  View<const float> d;    // [batch, nhead_q, seqlen_q, 1]
  View<T> dq;             // [batch, nhead_q, seqlen_q, hdim_q]
  Scores<T> scores;
  SequenceTable sequences;
  MaskRule mask;
  int batch;
  int nhead_q;
  int group_size;
};

template <class T, int kHeadDim>
__global__ __launch_bounds__(kThreads, workgroups_for(kHeadDim)) void dq_kernel(DqArguments<T> a) {
  constexpr int kParts = kHeadDim / kWidth;
  HIP_DYNAMIC_SHARED(float4, shared)
  auto* const facts = reinterpret_cast<RowFacts*>(shared);  // [kM]
  float* const step1 = reinterpret_cast<float*>(shared) + facts_floats(kM);
  float* const dx_tile = step1;                         // [kM, kN]
  float* const k_tile = dx_tile + tile_floats(kM, kN);  // [kN, kWidth]
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
  const int end_query = first_query + kM < seqlen_q ? first_query + kM : seqlen_q;
  const auto q = a.q.queries(sequence, head);
  const auto d_o = a.d_o.queries(sequence, head);
  const auto k = a.k.keys(sequence, head / a.group_size);
  const auto v = a.v.keys(sequence, head / a.group_size);
  const auto lse_rows = a.lse.queries(sequence, head);
  const auto d_rows = a.d.queries(sequence, head);

  float dq[kParts][kI][4] = {};
  note_rows<kM>(facts, a.mask, seqlen_k, lse_rows, d_rows, first_query);
  const Tiles keys(Mask(a.mask, seqlen_q, seqlen_k).keys_of({first_query, end_query}), kN);
  for (int first_key = keys.begin; first_key < keys.end; first_key += kN) {
    float s[kI][kJ];
    float dp[kI][kJ];
    multiply_pair<kM, kN>(step1, q, k, v, d_o, first_query, first_key, s, dp);
    differentiate_pair<&PairGradients::dx>(a.scores, HeadPlace(batch, head, a.mask, seqlen_q, seqlen_k),
                                           facts, first_query, first_key, s, dp, k_tile, dx_tile);

    FMHA_BWD_UNROLL
    for (int part = 0; part < kParts; ++part) {
      if (part * kWidth >= k.columns) break;
      __syncthreads();
      load_tile<kN, kWidth>(k_tile, k, first_key, part * kWidth);
      __syncthreads();
      multiply_ab<kI, kN>(dx_tile, k_tile, dq[part]);
    }
  }

  const auto to = a.dq.queries(sequence, head);
  FMHA_BWD_UNROLL
  for (int i = 0; i < kI; ++i) {
    FMHA_BWD_UNROLL
    for (int part = 0; part < kParts; ++part) {
      store_row(to, first_query + ty + kSide * i, part * kWidth + 4 * tx, dq[part][i], a.scores.scale);
    }
  }
}

}  // namespace

void launch_dq(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  const std::int64_t blocks = divided_up(p.seqlen_q, kM) * p.batch * p.nhead_q;
  with_element_type(p.dtype, [&]<class T>() {
    const DqArguments<T> arguments = {view_of<const T>(t.q, TensorId::q, p),
                                      view_of<const T>(t.k, TensorId::k, p),
                                      view_of<const T>(t.v, TensorId::v, p),
                                      view_of<const T>(t.d_o, TensorId::d_o, p),
                                      view_of<const float>(t.lse, TensorId::lse, p),
                                      view_of<const float>(t.d, TensorId::d, p),
                                      view_of<T>(t.dq, TensorId::dq, p),
                                      scores_of<T>(p, t),
                                      sequence_table(p, t),
                                      mask,
                                      static_cast<int>(p.batch),
                                      static_cast<int>(p.nhead_q),
                                      static_cast<int>(p.group_size())};
    with_head_dim(p.hdim_q, [&]<int kHeadDim>() {
      launch(dq_kernel<T, kHeadDim>, blocks, kSharedFloats, stream, arguments);
    });
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
