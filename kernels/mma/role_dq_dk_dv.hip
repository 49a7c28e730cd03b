// Backward stage 2 of plain scores by mma.sync, where a block can have 227 KB of shared memory.
#include "kernels/mma/role_dq_dk_dv.h"

#include "kernels/matrix/launch_backward.h"
#include "kernels/mma/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

extern template void matrix::Launcher<mma::Of<false>>::plain_dq_dk_dv(const Problem&, const MaskRule&,
                                                                      const DeviceTensors&, hipStream_t);
extern template void matrix::Launcher<mma::Of<false>>::convert_dq(const Problem&, const DeviceTensors&,
                                                                  hipStream_t);

template <>
void matrix::Launcher<mma::Of<true>>::plain_dq_dk_dv(const Problem& p, const MaskRule& mask,
                                                     const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    if constexpr (mma::Of<true>::kHasRoles<kHeadDim, true>) {
      using B = typename mma::Of<true>::template Backward<T, kHeadDim, true>;
      launch(mma::role_dq_dk_dv_kernel<mma::RoleSizes, T, kHeadDim>,
             BackwardGrid<B>(p).blocks_a_head(p) * p.batch * p.nhead_k, B::kThreads,
             mma::RoleMemory<B>::kBytes, stream, arguments_of<B>(p, mask, t));
    } else {
      Launcher<mma::Of<false>>::plain_dq_dk_dv(p, mask, t, stream);
    }
  });
}

template <>
void matrix::Launcher<mma::Of<true>>::convert_dq(const Problem& p, const DeviceTensors& t,
                                                 hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    if constexpr (mma::Of<true>::kHasRoles<kHeadDim, true>) {
      if (p.plain_scores()) return launch_convert_dq<mma::RoleSizes, T, kHeadDim, true>(p, t, stream);
    }
    Launcher<mma::Of<false>>::convert_dq(p, t, stream);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
