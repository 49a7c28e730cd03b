// Backward stage 3:  dQ = the fp32 accumulator of dQ, rounded to the problem's dtype.
//
// Bound by memory: it reads 4 bytes and writes 2 an element. 16 threads share a row; they write 16 bytes
// each, so that a row of 128 fp16 elements is one coalesced access. A workgroup has 16 rows of one head of
// one sequence.
#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

template <class T>
struct ConvertDqArguments {
  View<T> dq;                // [batch, nhead_q, seqlen_q, hdim_q]
  View<const float> dq_acc;  // [batch, nhead_q, seqlen_q, hdim_q]
  SequenceTable sequences;
  int nhead_q;
  unsigned tiles;  // of kSide rows, of the longest sequence
};

template <class T>
__global__ __launch_bounds__(kThreads) void convert_dq_kernel(ConvertDqArguments<T> a) {
  constexpr int kPackSize = Pack<T>::kSize;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  const RowOfTile at = row_of_tile(blockIdx.x, a.tiles, a.nhead_q);
  const Sequence sequence = a.sequences.at(at.sequence);
  const auto dq = a.dq.queries(sequence, at.head);
  if (at.row >= dq.rows) return;
  const float* const from = a.dq_acc.queries(sequence, at.head).row(at.row);
  T* const to = dq.row(at.row);
  if (dq.columns % kPackSize == 0) {
    for (int column = tx * kPackSize; column < dq.columns; column += kSide * kPackSize) {
      float values[kPackSize];
      read_floats(from + column, values);
      Pack<T> pack;
      FMHA_BWD_UNROLL
      for (int i = 0; i < kPackSize; ++i) pack.elements[i] = from_float<T>(values[i]);
      *reinterpret_cast<Pack<T>*>(to + column) = pack;
    }
  } else {
    for (int column = tx; column < dq.columns; column += kSide) to[column] = from_float<T>(from[column]);
  }
}

}  // namespace

void launch_convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  const std::int64_t tiles = divided_up(p.seqlen_q, kSide);
  const View<float> from = dq_acc_of(p, t);
  with_element_type(p.dtype, [&]<class T>() {
    const ConvertDqArguments<T> arguments = {
        view_of<T>(t.dq, TensorId::dq, p),
        {from.data, from.columns, from.batch_stride, from.head_stride, from.row_stride},
        sequence_table(p, t),
        static_cast<int>(p.nhead_q),
        static_cast<unsigned>(tiles)};
    launch(convert_dq_kernel<T>, tiles * p.batch * p.nhead_q, 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
