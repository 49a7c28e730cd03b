// Backward stage 2 of other scores by MFMA.
#include "kernels/matrix/target.h"

#if FMHA_BWD_CDNA
#include "kernels/cdna/sizes.h"
#include "kernels/matrix/launch_backward.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

template void matrix::Launcher<cdna::Traits>::scored_dq_dk_dv(const Problem&, const MaskRule&,
                                                              const DeviceTensors&, hipStream_t);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
#endif
