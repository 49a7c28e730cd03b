// What the launches of stage 2's variants share.
#pragma once

#include "kernels/hopper/dq_dk_dv.h"
#include "kernels/hopper/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Whether every query of the problem is known to see every key.
inline bool all_see_all(const Problem& p, const MaskRule& rule) {
  if (p.grouped() || rule.documents > 0) return false;
  const Mask mask(rule, p.seqlen_q, p.seqlen_k);
  const Range all = {0, p.seqlen_k};
  return mask.visible_keys(0) == all && mask.visible_keys(p.seqlen_q - 1) == all;
}

template <int kHeadDim>
ShareOut share_out_of(const Problem& p, const MaskRule& mask) {
  return for_walks(share_out_of<kHeadDim>(p), all_see_all(p, mask));
}

template <int kHeadDim>
DqDkDvArguments<kHeadDim> dq_dk_dv_arguments(const Problem& p, const MaskRule& mask, const DeviceTensors& t,
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
          scratch.turns,
          planes_of<kHeadDim>(p, t),
          scratch.key_tiles_before,
          Staircase::rule_of(mask),
          mask,
          Factors(p).dx,
          p.scale * kLog2E,
          static_cast<int>(divided_up(p.seqlen_k, Tile::kN)),
          static_cast<int>(p.nhead_k),
          static_cast<int>(p.group_size()),
          static_cast<int>(share.owned),
          static_cast<int>(share.parts)};
}

/// `kernel` is an instance of dq_dk_dv_kernel.
template <int kHeadDim, class Arguments>
void launch_dq_dk_dv_kernel(void (*kernel)(Arguments), const ShareOut& share, const Arguments& arguments,
                            hipStream_t stream) {
  launch(kernel, share.blocks(), 3 * kWarpgroup, sizeof(SharedMemory<kHeadDim>), stream, arguments);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
