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

template <class Traits, class T, int kHeadDim, bool kPlain>
void launch_convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  using B = typename Traits::template Backward<T, kHeadDim, kPlain>;
  launch(convert_dq_kernel<Traits, T, kHeadDim, kPlain>, divided_up(p.seqlen_q, B::kM) * p.batch * p.nhead_q,
         B::kThreads, B::kQueryTileBytes, stream, arguments_of<B>(p, MaskRule{}, t));
}

template <class Traits>
void Launcher<Traits>::convert_dq(const Problem& p, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    if (p.plain_scores()) {
      launch_convert_dq<Traits, T, kHeadDim, true>(p, t, stream);
    } else {
      launch_convert_dq<Traits, T, kHeadDim, false>(p, t, stream);
    }
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
