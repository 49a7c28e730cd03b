// Launcher::forward.
#pragma once

#include "kernels/matrix/forward.h"
#include "kernels/matrix/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

template <class Traits>
void Launcher<Traits>::forward(const Problem& p, const MaskRule& mask, const DeviceTensors& t,
                               hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    using F = Forward<typename Traits::template Unit<T>, kHeadDim>;
    using B = typename Traits::template Backward<T, kHeadDim, true>;
    launch(forward_kernel<Traits, T, kHeadDim>, divided_up(p.seqlen_q, F::kM) * p.batch * p.nhead_q,
           F::kThreads, F::kSharedBytes, stream, arguments_of<B>(p, mask, t));
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
