// Backward stage 3:  dQ = the fp32 accumulator of dQ, rounded to the problem's dtype.
//
// Bound by memory: it reads 4 bytes and writes 2 an element. 16 threads share a row; they write 16 bytes
// each, so that a row of 128 fp16 elements is one coalesced access.
#include "kernels/hip_check.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

template <class T>
struct ConvertDqArguments {
  View<T> dq;           // [batch, nhead_q, seqlen_q, hdim_q]
  const float* dq_acc;  // [batch, nhead_q, seqlen_q, hdim_q], contiguous
  unsigned rows;        // batch * nhead_q * seqlen_q
};

template <class T>
__global__ __launch_bounds__(kThreads) void convert_dq_kernel(ConvertDqArguments<T> a) {
  constexpr int kPackSize = Pack<T>::kSize;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  const int columns = a.dq.columns;
  const unsigned row = blockIdx.x * kSide + threadIdx.x / kSide;
  if (row >= a.rows) return;
  const float* const from = a.dq_acc + static_cast<std::int64_t>(row) * columns;
  T* const to = a.dq.data + a.dq.start_of(row);
  if (columns % kPackSize == 0) {
    for (int column = tx * kPackSize; column < columns; column += kSide * kPackSize) {
      float values[kPackSize];
      read_floats(from + column, values);
      Pack<T> pack;
      FMHA_BWD_UNROLL
      for (int i = 0; i < kPackSize; ++i) pack.elements[i] = from_float<T>(values[i]);
      *reinterpret_cast<Pack<T>*>(to + column) = pack;
    }
  } else {
    for (int column = tx; column < columns; column += kSide) to[column] = from_float<T>(from[column]);
  }
}

}  // namespace

void launch_convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  const std::int64_t rows = p.batch * p.nhead_q * p.seqlen_q;
  with_element_type(p.dtype, [&]<class T>() {
    const ConvertDqArguments<T> arguments = {view_of<T>(t.dq, TensorId::dq, p), t.dq_acc,
                                             static_cast<unsigned>(rows)};
    launch(convert_dq_kernel<T>, static_cast<unsigned>((rows + kSide - 1) / kSide), 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
