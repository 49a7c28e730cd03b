// Backward stage 3:  dQ = scale * its fp32 accumulator, rounded to the problem's dtype.
//
// The accumulator stands in the order of the registers that stage 2 adds from (tiling.h). A block takes half
// a tile, 64 queries by 64 to 128 columns: it reads 16 bytes a thread, coalesced, puts the rounded elements
// to their rows in shared memory, and writes whole rows. Bound by memory: 4 bytes read and 2 written an
// element. The last tiles come first: they are what stage 2 has left in the L2 cache.
#include "kernels/element.h"
#include "kernels/hopper/launch.h"
#include "kernels/hopper/ptx/dependence.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

template <class T, int kHeadDim>
struct ConvertDqArguments {
  const float* dq_acc;  // [planes, plane_tiles], tiles in the order of registers
  T* dq;                // [batch, nhead_q, seqlen_q, hdim_q], by `strides`
  Strides strides;
  float scale;
  int hdim_q;
  Planes<Tiling<kHeadDim>::kM> planes;
};

template <class T, int kHeadDim, bool kGrouped>
__global__ __launch_bounds__(kWarpgroup) void convert_dq_kernel(ConvertDqArguments<T, kHeadDim> a) {
  follow_launch_before();
  constexpr int kRows = 64;
  constexpr int kColumns = kHeadDim == 64 ? 64 : Tiling<kHeadDim>::kHdimQ / 2;
  constexpr int kPackSize = Pack<T>::kSize;
  constexpr int kStride = kColumns + kPackSize;
  __shared__ __align__(16) T block[kRows * kStride];  // [queries, columns]
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const unsigned half_tile = gridDim.x - 1 - blockIdx.x;
  const auto* const from = reinterpret_cast<const float4*>(a.dq_acc) +
                           static_cast<std::int64_t>(half_tile) * (kRows * kColumns / 4) + thread;
  const int sum_row = thread / 32 * 16 + lane / 4;  // of the products' sums, and 8 further
  FMHA_BWD_UNROLL
  for (int c = 0; c < kColumns / 8; ++c) {
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
  const int half = static_cast<int>(half_tile % 2);
  const QueryTile tile = a.planes.template query_tile<kGrouped>(static_cast<int>(half_tile / 2));
  const int first_query = tile.first_query + (kHeadDim == 64 ? half * kRows : 0);
  FMHA_BWD_UNROLL
  for (int i = 0; i < kRows * kColumns / kPackSize / kWarpgroup; ++i) {
    const int pack = i * kWarpgroup + thread;
    const int query = pack / (kColumns / kPackSize);
    const int column_in_half = pack % (kColumns / kPackSize) * kPackSize;
    const int column = kHeadDim == 64 ? column_in_half : column_of_half<kHeadDim>(half, column_in_half);
    if (first_query + query >= tile.seqlen_q || column >= a.hdim_q) continue;
    *reinterpret_cast<Pack<T>*>(
        a.dq + a.strides.offset_of({tile.batch, tile.head, tile.place + first_query + query, column})) =
        *reinterpret_cast<const Pack<T>*>(&block[query * kStride + column_in_half]);
  }
}

}  // namespace

void launch_convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  if (runs_errands(p)) return;
  with_types(p, [&]<class T, int kHeadDim>() {
    const ConvertDqArguments<T, kHeadDim> arguments = {
        t.dq_acc,      static_cast<T*>(t.dq),      place_of(TensorId::dq, p).strides,
        Factors(p).dx, static_cast<int>(p.hdim_q), planes_of<kHeadDim>(p, t)};
    launch(p.grouped() ? convert_dq_kernel<T, kHeadDim, true> : convert_dq_kernel<T, kHeadDim, false>,
           2 * all_query_tiles<kHeadDim>(p), kWarpgroup, 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
