// Backward stage 2 of other scores by gfx11's WMMA.
#include "kernels/matrix/target.h"

#if FMHA_BWD_GFX11
#include "kernels/matrix/launch_backward.h"
#include "kernels/rdna/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<rdna::Of<false>>::scored_dq_dk_dv(const Problem&, const MaskRule&,
                                                                 const DeviceTensors&, hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
#endif
