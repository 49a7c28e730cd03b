// Attention forward by mma.sync.
#include "kernels/matrix/launch_forward.h"
#include "kernels/mma/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<mma::Of<false>>::forward(const Problem&, const MaskRule&, const DeviceTensors&,
                                                        hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
