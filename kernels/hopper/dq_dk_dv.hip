// The launch of stage 2.
#include "kernels/hopper/dq_dk_dv.h"

#include "kernels/hopper/launch.h"
#include "kernels/hopper/shared_bytes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

int dq_dk_dv_shared_bytes(int hdim) {
  switch (hdim) {
    case 64:
      return sizeof(SharedMemory<64>);
    case 128:
      return sizeof(SharedMemory<128>);
    case head_dims(192, 128):
      return sizeof(SharedMemory<head_dims(192, 128)>);
    case 192:
      return sizeof(SharedMemory<192>);
    default:
      return sizeof(SharedMemory<256>);
  }
}

void launch_dq_dk_dv(const Problem& p, const Staircase& mask, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    using Tile = Tiling<kHeadDim>;
    const Scratch scratch = scratch_of<kHeadDim>(p, t.scratch);
    const ShareOut share = for_mask(share_out_of<kHeadDim>(p), mask);
    const DqDkDvArguments<kHeadDim> arguments = {tensor_map(t.q, TensorId::q, p, Tile::kM),
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
                                                 p.scale,
                                                 p.scale * kLog2E,
                                                 static_cast<int>(key_tiles<kHeadDim>(p)),
                                                 static_cast<int>(query_tiles<kHeadDim>(p)),
                                                 static_cast<int>(p.nhead_k),
                                                 static_cast<int>(p.group_size()),
                                                 static_cast<int>(share.owned),
                                                 static_cast<int>(share.parts)};
    launch(dq_dk_dv_kernel<T, kHeadDim>, share.blocks(), 3 * kWarpgroup, sizeof(SharedMemory<kHeadDim>),
           stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
