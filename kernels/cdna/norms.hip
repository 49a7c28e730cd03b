// The largest norms of rows of Q, K, V and dO: gfx90a's matrix cores take subnormal fp16 for zero, so that
// inputs and dS are scaled by powers of two (kernels/matrix/input_scales.h).
//
// Bound by memory: it reads the tensors once. 16 threads share a row, as in kernels/simt/dot_do_o.hip; a
// workgroup has 16 rows of one head of one sequence. No shared memory.
#include "kernels/matrix/target.h"

#if FMHA_BWD_CDNA
#include "kernels/cdna/norms.h"

#include <bit>

#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {
namespace {

using simt::kSide;
using simt::kThreads;

struct LargestNormArguments {
  View<const Half> rows;  // [batch, heads, rows, columns]
  SequenceTable sequences;
  int heads;
  unsigned tiles;  // of kSide rows, of the longest sequence
  bool are_keys;
  int* largest;  // a float's bits: those of positive floats have the order of the floats
};

__global__ __launch_bounds__(kThreads) void largest_norm_kernel(LargestNormArguments a) {
  constexpr int kPackSize = Pack<Half>::kSize;
  const simt::RowOfTile at = simt::row_of_tile(blockIdx.x, a.tiles, a.heads);
  const Sequence sequence = a.sequences.at(at.sequence);
  const auto rows = a.are_keys ? a.rows.keys(sequence, at.head) : a.rows.queries(sequence, at.head);
  float sum = 0.0F;
  if (at.row < rows.rows) {
    const Half* const row = rows.row(at.row);
    for (int column = static_cast<int>(threadIdx.x) % kSide * kPackSize; column < rows.columns;
         column += kSide * kPackSize) {
      const Pack<Half> pack = *reinterpret_cast<const Pack<Half>*>(row + column);
      FMHA_BWD_UNROLL
      for (int i = 0; i < kPackSize; ++i) sum += to_float(pack.elements[i]) * to_float(pack.elements[i]);
    }
  }
  sum = simt::row_sum(sum);
  if (threadIdx.x % kSide == 0 && sum > 0.0F) atomicMax(a.largest, std::bit_cast<int>(sum));
}

}  // namespace

void launch_norms(const Problem& p, const DeviceTensors& t, bool with_d_o, float* norms, hipStream_t stream) {
  struct Input {
    TensorId id;
    void* data;
    bool are_keys;
  };
  const Input inputs[matrix::kNorms] = {{TensorId::q, t.q, false},
                                        {TensorId::k, t.k, true},
                                        {TensorId::v, t.v, true},
                                        {TensorId::d_o, t.d_o, false}};
  FMHA_BWD_HIP(hipMemsetAsync(norms, 0, matrix::kNorms * sizeof(float), stream));
  for (int n = 0; n < (with_d_o ? matrix::kNorms : matrix::kNorms - 1); ++n) {
    const Input& input = inputs[n];
    const std::int64_t tiles = divided_up(input.are_keys ? p.seqlen_k : p.seqlen_q, kSide);
    const std::int64_t heads = input.are_keys ? p.nhead_k : p.nhead_q;
    const LargestNormArguments arguments = {view_of<const Half>(input.data, input.id, p),
                                            simt::sequence_table(p, t),
                                            static_cast<int>(heads),
                                            static_cast<unsigned>(tiles),
                                            input.are_keys,
                                            reinterpret_cast<int*>(norms + n)};
    simt::launch(largest_norm_kernel, tiles * p.batch * heads, 0, stream, arguments);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
#endif
