// Backward stage 2, the gradient of an elementwise bias:
//
//   dBias = dS, summed over the sequences and heads that share the bias
//
// with dS from kernels/scores.h. Tiling: a workgroup owns kM x kN = 64 x 64 elements of dBias and
// computes S and dP again for every sequence and head that shares them, in a fixed order: no atomics, no
// accumulator, the same bits in every run. It costs two products more a pair of tiles; pairs of tiles where
// no query sees a key are skipped. Elements beyond a sequence's own lengths, or that nothing sees, are 0.
//
// Budget: 16 floats each of S, dP and the sum a thread; 37.9 KB of shared memory.
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
static_assert(2 * tile_floats(kM, kN) <= pair_floats(kM, kN));

template <class T>
struct DbiasArguments {
  View<const T> q;        // [batch, nhead_q, seqlen_q, hdim_q]
  View<const T> k;        // [batch, nhead_k, seqlen_k, hdim_q]
  View<const T> v;        // [batch, nhead_k, seqlen_k, hdim_v]
  View<const T> d_o;      // [batch, nhead_q, seqlen_q, hdim_v]
  View<const float> lse;  // [batch, nhead_q, seqlen_q, 1]
  View<const float> d;    // [batch, nhead_q, seqlen_q, 1]
  T* dbias;               // [bias_batch, bias_heads, seqlen_q, seqlen_k]
  Scores<T> scores;
  SequenceTable sequences;
  MaskRule mask;
  int batch;
  int nhead_q;
  int group_size;
  int bias_batch;  // 1 or batch
  int bias_heads;  // 1 or nhead_q
};

/// sum[i][j] += dS of a pair of tiles of one head of one sequence.
template <class T>
__device__ __forceinline__ void add_pair(const DbiasArguments<T>& a, float* shared, int sequence_index,
                                         int head, int first_query, int first_key, float (&sum)[kI][kJ]) {
  const Sequence sequence = a.sequences.at(sequence_index);
  const auto seqlen_q = static_cast<int>(sequence.seqlen_q);
  const auto seqlen_k = static_cast<int>(sequence.seqlen_k);
  if (first_query >= seqlen_q || first_key >= seqlen_k) return;
  const int end_query = first_query + kM < seqlen_q ? first_query + kM : seqlen_q;
  const Range keys = Mask(a.mask, seqlen_q, seqlen_k).keys_of({first_query, end_query});
  if (keys.end <= first_key || keys.begin >= first_key + kN) return;

  auto* const facts = reinterpret_cast<RowFacts*>(shared);  // [kM]
  float* const tiles = shared + facts_floats(kM);
  float* const p_tile = tiles;                         // [kM, kN], not used
  float* const ds_tile = tiles + tile_floats(kM, kN);  // [kM, kN]
  float s[kI][kJ];
  float dp[kI][kJ];
  __syncthreads();  // the pair before this one is done with the facts
  note_rows<kM>(facts, a.mask, seqlen_k, a.lse.queries(sequence, head), a.d.queries(sequence, head),
                first_query);
  multiply_pair<kM, kN>(tiles, a.q.queries(sequence, head), a.k.keys(sequence, head / a.group_size),
                        a.v.keys(sequence, head / a.group_size), a.d_o.queries(sequence, head), first_query,
                        first_key, s, dp);
  differentiate_pair<&PairGradients::ds>(a.scores,
                                         HeadPlace(sequence_index, head, a.mask, seqlen_q, seqlen_k), facts,
                                         first_query, first_key, s, dp, p_tile, ds_tile);
  FMHA_BWD_UNROLL
  for (int i = 0; i < kI; ++i) {
    FMHA_BWD_UNROLL
    for (int j = 0; j < kJ; ++j) {
      const int row = static_cast<int>(threadIdx.x) / kSide + kSide * i;
      sum[i][j] += ds_tile[row * (kN + kPad) + static_cast<int>(threadIdx.x) % kSide + kSide * j];
    }
  }
}

template <class T>
__global__ __launch_bounds__(kThreads, 2) void dbias_kernel(DbiasArguments<T> a) {
  HIP_DYNAMIC_SHARED(float4, shared)
  const auto planes = static_cast<unsigned>(a.bias_batch * a.bias_heads);
  const auto bias_batch = static_cast<int>(blockIdx.x % planes) / a.bias_heads;
  const auto bias_head = static_cast<int>(blockIdx.x % planes) % a.bias_heads;
  const unsigned tile = blockIdx.x / planes;
  const auto seqlen_q = static_cast<int>(a.sequences.seqlen_q);
  const auto seqlen_k = static_cast<int>(a.sequences.seqlen_k);
  const auto key_tiles = static_cast<unsigned>((seqlen_k + kN - 1) / kN);
  const int first_query = static_cast<int>(tile / key_tiles) * kM;
  const int first_key = static_cast<int>(tile % key_tiles) * kN;

  float sum[kI][kJ] = {};
  const bool own_batch = a.bias_batch > 1;
  const bool own_head = a.bias_heads > 1;
  for (int sequence = own_batch ? bias_batch : 0; sequence < (own_batch ? bias_batch + 1 : a.batch);
       ++sequence) {
    for (int head = own_head ? bias_head : 0; head < (own_head ? bias_head + 1 : a.nhead_q); ++head) {
      add_pair(a, reinterpret_cast<float*>(shared), sequence, head, first_query, first_key, sum);
    }
  }

  const std::int64_t plane = static_cast<std::int64_t>(bias_batch) * a.bias_heads + bias_head;
  T* const to = a.dbias + plane * seqlen_q * seqlen_k;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kI; ++i) {
    const int query = first_query + static_cast<int>(threadIdx.x) / kSide + kSide * i;
    FMHA_BWD_UNROLL
    for (int j = 0; j < kJ; ++j) {
      const int key = first_key + static_cast<int>(threadIdx.x) % kSide + kSide * j;
      if (query < seqlen_q && key < seqlen_k) {
        to[static_cast<std::int64_t>(query) * seqlen_k + key] = from_float<T>(sum[i][j]);
      }
    }
  }
}

}  // namespace

void launch_dbias(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  const Shape shape = shape_of(TensorId::dbias, p);
  const std::int64_t tiles = divided_up(shape.row, kM) * divided_up(shape.column, kN);
  with_element_type(p.dtype, [&]<class T>() {
    const DbiasArguments<T> arguments = {view_of<const T>(t.q, TensorId::q, p),
                                         view_of<const T>(t.k, TensorId::k, p),
                                         view_of<const T>(t.v, TensorId::v, p),
                                         view_of<const T>(t.d_o, TensorId::d_o, p),
                                         view_of<const float>(t.lse, TensorId::lse, p),
                                         view_of<const float>(t.d, TensorId::d, p),
                                         static_cast<T*>(t.dbias),
                                         scores_of<T>(p, t),
                                         sequence_table(p, t),
                                         mask,
                                         static_cast<int>(p.batch),
                                         static_cast<int>(p.nhead_q),
                                         static_cast<int>(p.group_size()),
                                         static_cast<int>(shape.batch),
                                         static_cast<int>(shape.head)};
    launch(dbias_kernel<T>, tiles * shape.batch * shape.head, kSharedFloats, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
