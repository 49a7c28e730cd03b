// What the launches of stage 2's variants share.
#pragma once

#include <algorithm>

#include "kernels/hopper/dq_dk_dv.h"
#include "kernels/hopper/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

template <int kHeadDim>
ErrandArguments errand_arguments(const Problem& p, const DeviceTensors& t, const ShareOut& share,
                                 const Scratch& scratch) {
  if (!runs_errands(p)) return {};
  return {tensor_map(t.o, TensorId::o, p, Tiling<kHeadDim>::kM),
          t.d,
          scratch.d,
          static_cast<std::uint16_t*>(t.dq),
          place_of(TensorId::dq, p).strides,
          scratch.prepared,
          scratch.visited,
          static_cast<int>(p.seqlen_q),
          static_cast<int>(device_rows_q(p)),
          static_cast<int>(divided_up(p.seqlen_k, Tiling<kHeadDim>::kN) * share.parts),
          Divisor(static_cast<int>(std::max<std::int64_t>(p.group_size() * plane_tiles<kHeadDim>(p), 1))),
          Divisor(static_cast<int>(std::max<std::int64_t>(plane_tiles<kHeadDim>(p), 1))),
          Divisor(static_cast<int>(p.nhead_q))};
}

template <int kHeadDim>
DqDkDvArguments<kHeadDim> dq_dk_dv_arguments(const Problem& p, const DeviceTensors& t,
                                             const ShareOut& share) {
  using Tile = Tiling<kHeadDim>;
  const Scratch scratch = scratch_of<kHeadDim>(p, t.scratch);
  return {tensor_map(t.q, TensorId::q, p, Tile::kM),
          tensor_map(t.k, TensorId::k, p, Tile::kN),
          tensor_map(t.v, TensorId::v, p, 64),
          tensor_map(t.d_o, TensorId::d_o, p, Tile::kM),
          static_cast<std::uint16_t*>(t.dk),
          static_cast<std::uint16_t*>(t.dv),
          place_of(TensorId::dk, p).strides,
          place_of(TensorId::dv, p).strides,
          scratch.lse_log2,
          scratch.d,
          t.dq_acc,
          scratch.sums,
          scratch.arrivals,
          scratch.walks_taken,
          scratch.turns,
          scratch.plan,
          scratch.seen,
          errand_arguments<kHeadDim>(p, t, share, scratch),
          Factors(p).dx,
          p.scale * kLog2E,
          static_cast<int>(p.hdim_q),
          static_cast<int>(p.hdim_v),
          static_cast<int>(all_walks<kHeadDim>(p, share)),
          static_cast<int>(plane_tiles<kHeadDim>(p)),
          static_cast<int>(p.nhead_q)};
}

/// `kernel` is an instance of dq_dk_dv_kernel.
template <int kHeadDim, class Arguments>
void launch_dq_dk_dv_kernel(void (*kernel)(Arguments), const Arguments& arguments, hipStream_t stream) {
  const DqDkDvArguments<kHeadDim>& plain = arguments;
  launch(kernel, std::min<std::int64_t>(plain.walks, processors()), 3 * kWarpgroup,
         sizeof(SharedMemory<kHeadDim>), stream, arguments);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
