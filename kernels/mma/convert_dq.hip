// Backward stage 3 by mma.sync.
#include "kernels/matrix/launch_backward.h"
#include "kernels/mma/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<mma::Of<false>>::convert_dq(const Problem&, const DeviceTensors&, hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
