// Backward stage 3 by MFMA.
#include "kernels/matrix/target.h"

#if FMHA_BWD_CDNA
#include "kernels/cdna/sizes.h"
#include "kernels/matrix/launch_backward.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<cdna::Traits>::convert_dq(const Problem&, const DeviceTensors&, hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
#endif
