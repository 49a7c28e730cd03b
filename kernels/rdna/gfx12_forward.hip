// Attention forward by gfx12's WMMA.
#include "kernels/matrix/target.h"

#if FMHA_BWD_GFX12
#include "kernels/matrix/launch_forward.h"
#include "kernels/rdna/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<rdna::Of<true>>::forward(const Problem&, const MaskRule&, const DeviceTensors&,
                                                        hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
#endif
