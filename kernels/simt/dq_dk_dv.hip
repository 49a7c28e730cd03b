// Backward stage 2: dQ, dK and dV in one pass over the scores.
//
//   S = scale Q K^T,  P = exp(S - LSE),  dP = dO V^T,  dS = P (dP - D)
//   dV = P^T dO,  dK = scale dS^T Q,  dQ += scale dS K
//
// for plain scores; kernels/scores.h has P and dS (there dx) for the others.
//
// Tiling: a workgroup owns kN keys of one key head and walks over the tiles of kM = 64 queries that see any
// of them, for every query head of the group, so that dK and dV are summed over the group in registers and
// need no atomics. dQ gets contributions from every key tile: fp32 atomic additions into its accumulator; a
// deterministic problem leaves it to dq.hip. For one pair of tiles:
//   1. S and dP, 4 x 4 a thread, from kDepth columns of Q, K, dO, V at a time (pair.h);
//   2. P and dS to shared memory as fp32;
//   3. dV, dK and the tile's dQ, kWidth columns of dO, Q, K at a time.
// P is recomputed from LSE, so that nothing grows with seqlen_q * seqlen_k. Visibility is decided by mask.h
// alone; P of an invisible pair, and of a query that sees no key (LSE = -inf), is 0.
//
// Budget at hdim 128 (kN = 64): 64 floats of dK and dV and 32 of S and dP a thread; 53.2 KB of shared memory,
// which fits twice in an SM and once in 64 KB of LDS. Beyond hdim 128 kN = 32 keeps the registers the same;
// beyond 256 dK and dV take 128 floats a thread, and one workgroup has the multiprocessor.
//
// Why it is not slow: 5 products, none of them twice; each 16-byte read from shared memory feeds 8
// multiply-adds (5 beyond hdim 128); query tiles that see none of the keys are skipped; key tiles that are
// seen by the most queries start first. Bound: shared-memory bandwidth, then the fp32 rate (no matrix unit is
// used).
#include "kernels/hip_check.h"
#include "kernels/scores.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/pair.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

constexpr int kM = 64;

template <int kHeadDim>
struct Tiling {
  static constexpr int kN = kHeadDim <= 128 ? 64 : 32;
  static constexpr int kI = kM / kSide;
  static constexpr int kJ = kN / kSide;
  static constexpr int kParts = kHeadDim / kWidth;
  // What step 1 uses, and P, dS and one operand of step 3, take turns.
  static constexpr int kStep1Floats = pair_floats(kM, kN);
  static constexpr int kStep3Floats = 2 * tile_floats(kM, kN) + tile_floats(kM, kWidth);
  static constexpr int kSharedFloats =
      facts_floats(kM) + (kStep1Floats > kStep3Floats ? kStep1Floats : kStep3Floats);
};

template <class T>
struct DqDkDvArguments {
  View<const T> q;        // [batch, nhead_q, seqlen_q, hdim_q]
  View<const T> k;        // [batch, nhead_k, seqlen_k, hdim_q]
  View<const T> v;        // [batch, nhead_k, seqlen_k, hdim_v]
  View<const T> d_o;      // [batch, nhead_q, seqlen_q, hdim_v]
  View<const float> lse;  // [batch, nhead_q, seqlen_q, 1]
  View<const float> d;    // [batch, nhead_q, seqlen_q, 1]
  View<float> dq;         // [batch, nhead_q, seqlen_q, hdim_q], added to; data is nullptr where it is not
  View<T> dk;             // [batch, nhead_k, seqlen_k, hdim_q]
  View<T> dv;             // [batch, nhead_k, seqlen_k, hdim_v]
  Scores<T> scores;
  SequenceTable sequences;
  MaskRule mask;
  int batch;
  int nhead_k;
  int group_size;
};

template <class T, int kHeadDim>
__global__ __launch_bounds__(kThreads, workgroups_for(kHeadDim)) void dq_dk_dv_kernel(DqDkDvArguments<T> a) {
  using Tile = Tiling<kHeadDim>;
  constexpr int kN = Tile::kN;
  constexpr int kI = Tile::kI;
  constexpr int kJ = Tile::kJ;
  constexpr int kParts = Tile::kParts;
  HIP_DYNAMIC_SHARED(float4, shared)
  auto* const facts = reinterpret_cast<RowFacts*>(shared);  // [kM]
  float* const step1 = reinterpret_cast<float*>(shared) + facts_floats(kM);
  float* const p_tile = step1;                           // [kM, kN]
  float* const ds_tile = p_tile + tile_floats(kM, kN);   // [kM, kN]
  float* const operand = ds_tile + tile_floats(kM, kN);  // [kM or kN, kWidth]
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const int tx = static_cast<int>(threadIdx.x) % kSide;

  const auto heads = static_cast<unsigned>(a.batch * a.nhead_k);
  const int batch = static_cast<int>(blockIdx.x % heads) / a.nhead_k;
  const int head_k = static_cast<int>(blockIdx.x % heads) % a.nhead_k;
  const Sequence sequence = a.sequences.at(batch);
  const auto seqlen_q = static_cast<int>(sequence.seqlen_q);
  const auto seqlen_k = static_cast<int>(sequence.seqlen_k);
  const int first_key = static_cast<int>(blockIdx.x / heads) * kN;
  if (first_key >= seqlen_k) return;
  const int end_key = first_key + kN < seqlen_k ? first_key + kN : seqlen_k;
  const Tiles queries(Mask(a.mask, seqlen_q, seqlen_k).queries_of({first_key, end_key}), kM);
  const auto k = a.k.keys(sequence, head_k);
  const auto v = a.v.keys(sequence, head_k);

  float dk[kParts][kJ][4] = {};
  float dv[kParts][kJ][4] = {};

  for (int member = 0; member < a.group_size; ++member) {
    const int head = head_k * a.group_size + member;
    const auto q = a.q.queries(sequence, head);
    const auto d_o = a.d_o.queries(sequence, head);
    const auto dq = a.dq.queries(sequence, head);
    const auto lse_rows = a.lse.queries(sequence, head);
    const auto d_rows = a.d.queries(sequence, head);

    for (int first_query = queries.begin; first_query < queries.end; first_query += kM) {
      float s[kI][kJ];
      float dp[kI][kJ];
      note_rows<kM>(facts, a.mask, seqlen_k, lse_rows, d_rows, first_query);
      multiply_pair<kM, kN>(step1, q, k, v, d_o, first_query, first_key, s, dp);
      differentiate_pair<&PairGradients::dx>(a.scores, HeadPlace(batch, head, a.mask, seqlen_q, seqlen_k),
                                             facts, first_query, first_key, s, dp, p_tile, ds_tile);

      FMHA_BWD_UNROLL
      for (int part = 0; part < kParts; ++part) {
        if (part * kWidth < v.columns) {
          load_tile<kM, kWidth>(operand, d_o, first_query, part * kWidth);
          __syncthreads();
          multiply_atb<kJ, kM>(p_tile, operand, dv[part]);
          __syncthreads();
        }
        if (part * kWidth < k.columns) {
          load_tile<kM, kWidth>(operand, q, first_query, part * kWidth);
          __syncthreads();
          multiply_atb<kJ, kM>(ds_tile, operand, dk[part]);
          __syncthreads();
          if (dq.data == nullptr) continue;

          load_tile<kN, kWidth>(operand, k, first_key, part * kWidth);
          __syncthreads();
          float dq_part[kI][4] = {};
          multiply_ab<kI, kN>(ds_tile, operand, dq_part);
          FMHA_BWD_UNROLL
          for (int i = 0; i < kI; ++i) {
            const int query = first_query + ty + kSide * i;
            if (query >= seqlen_q) break;
            float* const row = dq.row(query);
            FMHA_BWD_UNROLL
            for (int j = 0; j < 4; ++j) {
              const int column = part * kWidth + 4 * tx + j;
              if (column < dq.columns) atomicAdd(row + column, dq_part[i][j] * a.scores.scale);
            }
          }
          __syncthreads();
        }
      }
    }
  }

  const auto dk_rows = a.dk.keys(sequence, head_k);
  const auto dv_rows = a.dv.keys(sequence, head_k);
  FMHA_BWD_UNROLL
  for (int part = 0; part < kParts; ++part) {
    FMHA_BWD_UNROLL
    for (int j = 0; j < kJ; ++j) {
      store_row(dk_rows, first_key + kJ * ty + j, part * kWidth + 4 * tx, dk[part][j], a.scores.scale);
      store_row(dv_rows, first_key + kJ * ty + j, part * kWidth + 4 * tx, dv[part][j], 1.0F);
    }
  }
}

}  // namespace

void launch_dq_dk_dv(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  View<float> dq = adds_into_dq(p) ? view_of<float>(t.dq, TensorId::dq, p) : dq_acc_of(p, t);
  if (p.deterministic) dq = {};
  with_element_type(p.dtype, [&]<class T>() {
    const DqDkDvArguments<T> arguments = {view_of<const T>(t.q, TensorId::q, p),
                                          view_of<const T>(t.k, TensorId::k, p),
                                          view_of<const T>(t.v, TensorId::v, p),
                                          view_of<const T>(t.d_o, TensorId::d_o, p),
                                          view_of<const float>(t.lse, TensorId::lse, p),
                                          view_of<const float>(t.d, TensorId::d, p),
                                          dq,
                                          view_of<T>(t.dk, TensorId::dk, p),
                                          view_of<T>(t.dv, TensorId::dv, p),
                                          scores_of<T>(p, t),
                                          sequence_table(p, t),
                                          mask,
                                          static_cast<int>(p.batch),
                                          static_cast<int>(p.nhead_k),
                                          static_cast<int>(p.group_size())};
    with_head_dim(p.hdim_q > p.hdim_v ? p.hdim_q : p.hdim_v, [&]<int kHeadDim>() {
      using Tile = Tiling<kHeadDim>;
      launch(dq_dk_dv_kernel<T, kHeadDim>, divided_up(p.seqlen_k, Tile::kN) * p.batch * p.nhead_k,
             Tile::kSharedFloats, stream, arguments);
    });
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
