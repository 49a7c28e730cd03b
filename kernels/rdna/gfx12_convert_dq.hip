// Backward stage 3 by gfx12's WMMA.
#include "kernels/matrix/target.h"

#if FMHA_BWD_GFX12
#include "kernels/matrix/launch_backward.h"
#include "kernels/rdna/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<rdna::Of<true>>::convert_dq(const Problem&, const DeviceTensors&, hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
#endif
