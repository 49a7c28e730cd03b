// Backward stage 1, the gradient of the sinks:
//
//   dSink[head] = -sum over the rows of that head of exp(sink - LSE) D
//
// One workgroup a head: a thread adds up every 256th row of each sequence, and a tree in shared memory (1 KB)
// the threads. Bound by memory, 8 bytes a row.
#include "kernels/plain/arguments.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {
namespace {

__global__ __launch_bounds__(kThreads) void dsink_kernel(Arguments a) {
  HIP_DYNAMIC_SHARED(float, sums)  // [kThreads]
  const auto head = static_cast<int>(blockIdx.x);
  const auto thread = static_cast<int>(threadIdx.x);
  const float sink = a.sink[head];
  float sum = 0.0F;
  for (int index = 0; index < a.batch; ++index) {
    const Sequence sequence = a.sequence(index);
    const auto lse = a.queries(a.lse, sequence, head, 1);
    const auto d = a.queries(a.d, sequence, head, 1);
    float sequence_sum = 0.0F;
    for (int row = thread; row < d.rows; row += kThreads) {
      sequence_sum += expf(sink - *lse.row(row)) * *d.row(row);
    }
    sum += sequence_sum;
  }
  sums[thread] = sum;
  __syncthreads();
  for (int count = kThreads / 2; count > 0; count /= 2) {
    if (thread < count) sums[thread] += sums[thread + count];
    __syncthreads();
  }
  if (thread == 0) a.dsink[head] = -sums[0];
}

}  // namespace

void launch_dsink(const Arguments& a, hipStream_t stream) {
  launch(dsink_kernel, a.nhead_q, kThreads * sizeof(float), stream, a);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
