// Backward stage 1:  D[row] = sum over the columns of dO[row] * O[row].
//
// Bound by memory: it reads dO and O once and writes one float a row. 16 threads share a row and add up by
// shuffles; they read 16 bytes each, so that a row of 128 fp16 elements is one coalesced access. A workgroup
// has 16 rows of one head of one sequence. No shared memory.
#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

template <class T>
struct DotDoOArguments {
  View<const T> o;    // [batch, nhead_q, seqlen_q, hdim_v]
  View<const T> d_o;  // [batch, nhead_q, seqlen_q, hdim_v]
  View<float> d;      // [batch, nhead_q, seqlen_q, 1]
  SequenceTable sequences;
  int nhead_q;
  unsigned tiles;  // of kSide rows, of the longest sequence
};

template <class T>
__global__ __launch_bounds__(kThreads) void dot_do_o_kernel(DotDoOArguments<T> a) {
  constexpr int kPackSize = Pack<T>::kSize;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  const RowOfTile at = row_of_tile(blockIdx.x, a.tiles, a.nhead_q);
  const Sequence sequence = a.sequences.at(at.sequence);
  const auto o_rows = a.o.queries(sequence, at.head);
  float sum = 0.0F;
  if (at.row < o_rows.rows) {
    const T* const d_o = a.d_o.queries(sequence, at.head).row(at.row);
    const T* const o = o_rows.row(at.row);
    const int columns = o_rows.columns;
    if (columns % kPackSize == 0) {
      for (int column = tx * kPackSize; column < columns; column += kSide * kPackSize) {
        const Pack<T> d_o_pack = *reinterpret_cast<const Pack<T>*>(d_o + column);
        const Pack<T> o_pack = *reinterpret_cast<const Pack<T>*>(o + column);
        FMHA_BWD_UNROLL
        for (int i = 0; i < kPackSize; ++i)
          sum += to_float(d_o_pack.elements[i]) * to_float(o_pack.elements[i]);
      }
    } else {
      for (int column = tx; column < columns; column += kSide)
        sum += to_float(d_o[column]) * to_float(o[column]);
    }
  }
  sum = row_sum(sum);
  if (tx == 0 && at.row < o_rows.rows) *a.d.queries(sequence, at.head).row(at.row) = sum;
}

}  // namespace

void launch_dot_do_o(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  const std::int64_t tiles = divided_up(p.seqlen_q, kSide);
  with_element_type(p.dtype, [&]<class T>() {
    const DotDoOArguments<T> arguments = {
        view_of<const T>(t.o, TensorId::o, p), view_of<const T>(t.d_o, TensorId::d_o, p),
        view_of<float>(t.d, TensorId::d, p),   sequence_table(p, t),
        static_cast<int>(p.nhead_q),           static_cast<unsigned>(tiles)};
    launch(dot_do_o_kernel<T>, tiles * p.batch * p.nhead_q, 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
