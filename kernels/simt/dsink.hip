// Backward, the gradient of the attention sinks:
//
//   dSink[head] = -sum over the rows of that head of exp(sink - LSE) D
//
// A sink takes part in the softmax's sum with no value of its own, so that its dP is 0. One workgroup a head
// sums its rows of all sequences in a fixed order, kThreads at a time, and then over its threads in shared
// memory. Bound by memory, 8 bytes a row; it is small beside the products.
#include "kernels/simt/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {
namespace {

struct DsinkArguments {
  View<const float> lse;  // [batch, nhead_q, seqlen_q, 1]
  View<const float> d;    // [batch, nhead_q, seqlen_q, 1]
  const float* sink;      // [nhead_q]
  float* dsink;           // [nhead_q]
  SequenceTable sequences;
  int batch;
};

__global__ __launch_bounds__(kThreads) void dsink_kernel(DsinkArguments a) {
  HIP_DYNAMIC_SHARED(float4, shared)
  float* const sums = reinterpret_cast<float*>(shared);  // [kThreads]
  const std::int64_t head = blockIdx.x;
  const auto thread = static_cast<int>(threadIdx.x);
  const float sink = a.sink[head];
  float sum = 0.0F;
  for (int index = 0; index < a.batch; ++index) {
    const Sequence sequence = a.sequences.at(index);
    const auto lse = a.lse.queries(sequence, head);
    const auto d = a.d.queries(sequence, head);
    for (int row = thread; row < lse.rows; row += kThreads) sum += expf(sink - *lse.row(row)) * *d.row(row);
  }
  sums[thread] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  if (thread == 0) a.dsink[head] = -sums[0];
}

}  // namespace

void launch_dsink(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  const DsinkArguments arguments = {view_of<const float>(t.lse, TensorId::lse, p),
                                    view_of<const float>(t.d, TensorId::d, p),
                                    t.sink,
                                    t.dsink,
                                    sequence_table(p, t),
                                    static_cast<int>(p.batch)};
  launch(dsink_kernel, p.nhead_q, kThreads, stream, arguments);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
