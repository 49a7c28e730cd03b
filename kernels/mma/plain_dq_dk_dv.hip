// Backward stage 2 of plain scores by mma.sync.
#include "kernels/matrix/launch_backward.h"
#include "kernels/mma/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<mma::Of<false>>::plain_dq_dk_dv(const Problem&, const MaskRule&,
                                                               const DeviceTensors&, hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
