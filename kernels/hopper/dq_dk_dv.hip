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

namespace {

/// Whether every query of the problem is known to see every key.
bool all_see_all(const Problem& p, const MaskRule& rule) {
  if (p.grouped() || rule.documents > 0) return false;
  const Mask mask(rule, p.seqlen_q, p.seqlen_k);
  const Range all = {0, p.seqlen_k};
  return mask.visible_keys(0) == all && mask.visible_keys(p.seqlen_q - 1) == all;
}

}  // namespace

void launch_dq_dk_dv(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    using Tile = Tiling<kHeadDim>;
    const Scratch scratch = scratch_of<kHeadDim>(p, t.scratch);
    const ShareOut share = for_walks(share_out_of<kHeadDim>(p), all_see_all(p, mask));
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
                                                 scratch.turns,
                                                 planes_of<kHeadDim>(p, t),
                                                 scratch.key_tiles_before,
                                                 Staircase::rule_of(mask),
                                                 mask,
                                                 p.scale,
                                                 p.scale * kLog2E,
                                                 static_cast<int>(divided_up(p.seqlen_k, Tile::kN)),
                                                 static_cast<int>(p.nhead_k),
                                                 static_cast<int>(p.group_size()),
                                                 static_cast<int>(share.owned),
                                                 static_cast<int>(share.parts)};
    const bool is_staircase = Staircase::is_one(mask);
    const auto kernel = p.deterministic ? is_staircase ? dq_dk_dv_kernel<T, kHeadDim, Staircase, true>
                                                       : dq_dk_dv_kernel<T, kHeadDim, Mask, true>
                        : is_staircase ? dq_dk_dv_kernel<T, kHeadDim, Staircase, false>
                                        : dq_dk_dv_kernel<T, kHeadDim, Mask, false>;
    launch(kernel, share.blocks(), 3 * kWarpgroup, sizeof(SharedMemory<kHeadDim>), stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
