// Backward stage 1:  D = rowsum(dO * O).
//
// A workgroup has 16 rows of one head, 16 threads a row: each adds up every 16th column, and shuffles add up
// the threads. Bound by memory: dO and O are read once. No shared memory.
#include "kernels/plain/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {
namespace {

__global__ __launch_bounds__(kThreads) void dot_do_o_kernel(Arguments a) {
  const auto [index, head, first_query] = own_rows(a.batch, a.nhead_q, kSide);
  const Sequence sequence = a.sequence(index);
  const int query = first_query + thread_row();
  const auto o = a.queries(a.o, sequence, head, a.hdim_v);
  const auto d_o = a.queries(a.d_o, sequence, head, a.hdim_v);
  float sum = 0.0F;
  if (query < o.rows) {
    for (int column = thread_column(); column < o.columns; column += kSide) {
      sum += d_o.row(query)[column] * o.row(query)[column];
    }
  }
  sum = row_total(sum);
  if (thread_column() == 0 && query < o.rows) *a.queries(a.d, sequence, head, 1).row(query) = sum;
}

}  // namespace

void launch_dot_do_o(const Arguments& a, hipStream_t stream) {
  launch(dot_do_o_kernel, divided_up(a.seqlen_q, kSide) * a.batch * a.nhead_q, 0, stream, a);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
