// What the launches of stage 2's variants share.
#pragma once

#include "kernels/hopper/dq_dk_dv.h"
#include "kernels/hopper/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

template <int kHeadDim>
DqDkDvArguments<kHeadDim> dq_dk_dv_arguments(const Problem& p, const Staircase& mask, const DeviceTensors& t,
                                             const ShareOut& share) {
  using Tile = Tiling<kHeadDim>;
  const Scratch scratch = scratch_of<kHeadDim>(p, t.scratch);
  return {tensor_map(t.q, TensorId::q, p, Tile::kM),
          tensor_map(t.k, TensorId::k, p, Tile::kN),
          tensor_map(t.v, TensorId::v, p, Tile::kN),
          tensor_map(t.d_o, TensorId::d_o, p, Tile::kM),
          tensor_map(t.dk, TensorId::dk, p, 64),
          tensor_map(t.dv, TensorId::dv, p, 64),
          scratch.lse_log2,
          scratch.d,
          t.dq_acc,
          scratch.sums,
          scratch.arrivals,
          mask,
          Factors(p).dx,
          p.scale * kLog2E,
          static_cast<int>(key_tiles<kHeadDim>(p)),
          static_cast<int>(query_tiles<kHeadDim>(p)),
          static_cast<int>(p.nhead_k),
          static_cast<int>(p.group_size()),
          static_cast<int>(share.owned),
          static_cast<int>(share.parts)};
}

template <class T, int kHeadDim, unsigned kFeatures>
void launch_dq_dk_dv_kernel(const ShareOut& share,
                            const typename ScoresOf<T, kHeadDim, kFeatures>::Arguments& arguments,
                            hipStream_t stream) {
  launch(dq_dk_dv_kernel<T, kHeadDim, kFeatures>, share.blocks(), 3 * kWarpgroup,
         sizeof(SharedMemory<kHeadDim>), stream, arguments);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
