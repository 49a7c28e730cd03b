// Backward stage 3:  dQ = scale * its fp32 accumulator, rounded to the problem's dtype.
//
// The accumulator stands in the order of the registers that stage 2 adds from (tiling.h). A block takes half
// a tile, 64 queries by 64 columns: it reads 16 bytes a thread, coalesced, puts the rounded elements to their
// rows in shared memory, and writes whole rows of 128 bytes. Bound by memory: 4 bytes read and 2 written an
// element. The last tiles come first: they are what stage 2 has left in the L2 cache.
#include "kernels/element.h"
#include "kernels/hopper/launch.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

template <class T>
struct ConvertDqArguments {
  const float* dq_acc;  // [batch, nhead_q, query_tiles], tiles in the order of registers
  T* dq;                // [batch, nhead_q, seqlen_q, hdim], by `strides`
  Strides strides;
  float scale;
  int nhead_q;
  int seqlen_q;
  int query_tiles;
};

template <class T, int kHeadDim>
__global__ __launch_bounds__(kWarpgroup) void convert_dq_kernel(ConvertDqArguments<T> a) {
  constexpr int kSide = 64;
  constexpr int kPackSize = Pack<T>::kSize;
  constexpr int kStride = kSide + kPackSize;
  __shared__ __align__(16) T block[kSide * kStride];  // [queries, columns]
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const unsigned half_tile = gridDim.x - 1 - blockIdx.x;
  const auto* const from = reinterpret_cast<const float4*>(a.dq_acc) +
                           static_cast<std::int64_t>(half_tile) * (kSide * kSide / 4) + thread;
  const int sum_row = thread / 32 * 16 + lane / 4;  // of the products' sums, and 8 further
  FMHA_BWD_UNROLL
  for (int c = 0; c < kSide / 8; ++c) {
    const float4 quad = from[c * kWarpgroup];
    const float values[4] = {quad.x, quad.y, quad.z, quad.w};
    FMHA_BWD_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int row = sum_row + i / 2 * 8;
      const int column = 8 * c + 2 * (lane % 4) + i % 2;
      const int query = kHeadDim == 64 ? column : row;  // hdim 64 multiplies dQ^T
      const int at = kHeadDim == 64 ? row : column;
      block[query * kStride + at] = from_float<T>(values[i] * a.scale);
    }
  }
  __syncthreads();
  const auto tile = static_cast<int>(half_tile / 2);
  const int half = static_cast<int>(half_tile % 2);
  const int head_of_batch = tile / a.query_tiles;
  const int first_query = tile % a.query_tiles * Tiling<kHeadDim>::kM + (kHeadDim == 64 ? half * kSide : 0);
  const int first_column = kHeadDim == 64 ? 0 : half * kSide;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kSide * kSide / kPackSize / kWarpgroup; ++i) {
    const int pack = i * kWarpgroup + thread;
    const int query = pack / (kSide / kPackSize);
    const int column = pack % (kSide / kPackSize) * kPackSize;
    if (first_query + query >= a.seqlen_q) continue;
    *reinterpret_cast<Pack<T>*>(a.dq +
                                a.strides.offset_of({head_of_batch / a.nhead_q, head_of_batch % a.nhead_q,
                                                     first_query + query, first_column + column})) =
        *reinterpret_cast<const Pack<T>*>(&block[query * kStride + column]);
  }
}

}  // namespace

void launch_convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    const std::int64_t tiles = p.batch * p.nhead_q * query_tiles<kHeadDim>(p);
    const ConvertDqArguments<T> arguments = {t.dq_acc,
                                             static_cast<T*>(t.dq),
                                             place_of(TensorId::dq, p).strides,
                                             Factors(p).dx,
                                             static_cast<int>(p.nhead_q),
                                             static_cast<int>(p.seqlen_q),
                                             static_cast<int>(query_tiles<kHeadDim>(p))};
    launch(convert_dq_kernel<T, kHeadDim>, 2 * tiles, kWarpgroup, 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
