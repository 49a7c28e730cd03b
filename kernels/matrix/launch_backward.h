// Launcher's stages of the backward.
#pragma once

#include "kernels/matrix/convert_dq.h"
#include "kernels/matrix/dq_dk_dv.h"
#include "kernels/matrix/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

template <class Traits, bool kPlain>
void launch_dq_dk_dv(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    using B = typename Traits::template Backward<T, kHeadDim, kPlain>;
    launch(dq_dk_dv_kernel<Traits, T, kHeadDim, kPlain>,
           BackwardGrid<B>(p).blocks_a_head(p) * p.batch * p.nhead_k, B::kThreads, B::kSharedBytes, stream,
           arguments_of<B>(p, mask, t));
  });
}

template <class Traits>
void Launcher<Traits>::plain_dq_dk_dv(const Problem& p, const MaskRule& mask, const DeviceTensors& t,
                                      hipStream_t stream) {
  launch_dq_dk_dv<Traits, true>(p, mask, t, stream);
}

template <class Traits>
void Launcher<Traits>::scored_dq_dk_dv(const Problem& p, const MaskRule& mask, const DeviceTensors& t,
                                       hipStream_t stream) {
  launch_dq_dk_dv<Traits, false>(p, mask, t, stream);
}

template <class Traits>
void Launcher<Traits>::convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    const auto convert = [&]<bool kPlain>() {
      using B = typename Traits::template Backward<T, kHeadDim, kPlain>;
      launch(convert_dq_kernel<Traits, T, kHeadDim, kPlain>,
             divided_up(p.seqlen_q, B::kM) * p.batch * p.nhead_q, B::kThreads, B::kQueryTileBytes, stream,
             arguments_of<B>(p, MaskRule{}, t));
    };
    p.plain_scores() ? convert.template operator()<true>() : convert.template operator()<false>();
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
