// Backward stage 1:  D[row] = sum over the columns of dO[row] * O[row].
//
// Bound by memory: it reads dO and O once and writes one float a row. 16 threads share a row and add up by
// shuffles; they read 16 bytes each, so that a row of 128 fp16 elements is one coalesced access. No shared
// memory.
#include "kernels/hip_check.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

template <class T>
struct DotDoOArguments {
  View<const T> o;  // [batch, nhead_q, seqlen_q, hdim_v]
  const T* d_o;     // with the strides of o
  float* d;         // [batch, nhead_q, seqlen_q]
  unsigned rows;    // batch * nhead_q * seqlen_q
};

template <class T>
__global__ __launch_bounds__(kThreads) void dot_do_o_kernel(DotDoOArguments<T> a) {
  constexpr int kPackSize = Pack<T>::kSize;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  const int columns = a.o.columns;
  const unsigned row = blockIdx.x * kSide + threadIdx.x / kSide;
  float sum = 0.0F;
  if (row < a.rows) {
    const std::int64_t start = a.o.start_of(row);
    const T* d_o = a.d_o + start;
    const T* o = a.o.data + start;
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
  if (tx == 0 && row < a.rows) a.d[row] = sum;
}

}  // namespace

void launch_dot_do_o(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  const std::int64_t rows = p.batch * p.nhead_q * p.seqlen_q;
  with_element_type(p.dtype, [&]<class T>() {
    const DotDoOArguments<T> arguments = {view_of<const T>(t.o, TensorId::o, p), static_cast<const T*>(t.d_o),
                                          t.d, static_cast<unsigned>(rows)};
    launch(dot_do_o_kernel<T>, static_cast<unsigned>((rows + kSide - 1) / kSide), 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
