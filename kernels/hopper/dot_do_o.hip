// Backward stage 1:  D[row] = sum over the columns of dO[row] * O[row], and what stage 2 wants prepared:
// LSE in base 2, both padded to whole tiles of queries, and zeros in the accumulator of dQ and in the sums of
// shared tiles.
//
// Bound by memory: it reads dO and O once and writes the accumulator. A row's threads read 16 bytes each, one
// coalesced access a row, and add up by shuffles; the same threads zero as many floats as the row has
// columns. Blocks after those of the rows zero the sums. The last rows come first, so that the L2 cache still
// holds the zeros that stage 2 adds to first.
#include "kernels/element.h"
#include "kernels/hopper/launch.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

constexpr int kThreads = 256;

template <class T>
struct DotDoOArguments {
  const T* d_o;      // [batch, nhead_q, seqlen_q, hdim], by `strides`
  const T* o;        // [batch, nhead_q, seqlen_q, hdim], by `strides`
  const float* lse;  // [batch, nhead_q, seqlen_q]
  float* d;          // [batch, nhead_q, seqlen_q]
  Scratch scratch;   // [batch, nhead_q, padded_seqlen_q]
  float* dq_acc;     // [batch, nhead_q, padded_seqlen_q, hdim]
  Strides strides;
  float lse_less;  // see factors.h
  float d_factor;
  int nhead_q;
  int seqlen_q;
  int padded_seqlen_q;
  std::int64_t rows;  // padded, of all heads
};

template <class T, int kHeadDim>
__global__ __launch_bounds__(kThreads) void dot_do_o_kernel(DotDoOArguments<T> a) {
  constexpr int kPackSize = Pack<T>::kSize;
  constexpr int kSharers = kHeadDim / kPackSize;  // threads of a row
  constexpr int kRows = kThreads / kSharers;      // of a block; they divide the padded length
  if (static_cast<std::int64_t>(blockIdx.x) * kRows >= a.rows) {
    const std::int64_t quad =
        (static_cast<std::int64_t>(blockIdx.x) - a.rows / kRows) * kThreads + threadIdx.x;
    if (quad < a.scratch.zeroed / 4) reinterpret_cast<float4*>(a.scratch.sums)[quad] = float4{};
    return;
  }
  const int sharer = static_cast<int>(threadIdx.x) % kSharers;
  const std::int64_t first_row = a.rows - (static_cast<std::int64_t>(blockIdx.x) + 1) * kRows;
  const std::int64_t padded_row = first_row + threadIdx.x / kSharers;
  const auto head_of_batch = static_cast<int>(padded_row / a.padded_seqlen_q);
  const auto row = static_cast<int>(padded_row % a.padded_seqlen_q);
  const bool exists = row < a.seqlen_q;
  float sum = 0.0F;
  if (exists) {
    const std::int64_t at =
        a.strides.offset_of({head_of_batch / a.nhead_q, head_of_batch % a.nhead_q, row, sharer * kPackSize});
    const Pack<T> d_o = *reinterpret_cast<const Pack<T>*>(a.d_o + at);
    const Pack<T> o = *reinterpret_cast<const Pack<T>*>(a.o + at);
    FMHA_BWD_UNROLL
    for (int i = 0; i < kPackSize; ++i) sum += to_float(d_o.elements[i]) * to_float(o.elements[i]);
  }
  FMHA_BWD_UNROLL
  for (int distance = kSharers / 2; distance > 0; distance /= 2) sum += __shfl_xor(sum, distance);
  if (sharer == 0) {
    float lse_log2 = INFINITY;
    if (exists) {
      const std::int64_t at = static_cast<std::int64_t>(head_of_batch) * a.seqlen_q + row;
      const float lse = a.lse[at];
      if (lse != -INFINITY) lse_log2 = lse * kLog2E - a.lse_less;
      a.d[at] = sum;
    }
    a.scratch.lse_log2[padded_row] = lse_log2;
    a.scratch.d[padded_row] = sum * a.d_factor;
  }
  auto* const zeros = reinterpret_cast<float4*>(a.dq_acc + first_row * kHeadDim) + threadIdx.x;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kPackSize / 4; ++i) zeros[i * kThreads] = float4{};
}

}  // namespace

void launch_dot_do_o(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    constexpr int kRows = kThreads * Pack<T>::kSize / kHeadDim;
    static_assert(Tiling<kHeadDim>::kM % kRows == 0);
    const std::int64_t rows = padded_rows<kHeadDim>(p);
    const Scratch scratch = scratch_of<kHeadDim>(p, t.scratch);
    const Factors factors(p);
    const std::int64_t blocks = rows / kRows + divided_up(scratch.zeroed / 4, kThreads);
    const DotDoOArguments<T> arguments = {static_cast<const T*>(t.d_o),
                                          static_cast<const T*>(t.o),
                                          t.lse,
                                          t.d,
                                          scratch,
                                          t.dq_acc,
                                          place_of(TensorId::d_o, p).strides,
                                          factors.lse_less,
                                          factors.d,
                                          static_cast<int>(p.nhead_q),
                                          static_cast<int>(p.seqlen_q),
                                          static_cast<int>(query_tiles<kHeadDim>(p)) * Tiling<kHeadDim>::kM,
                                          rows};
    launch(dot_do_o_kernel<T, kHeadDim>, blocks, kThreads, 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
