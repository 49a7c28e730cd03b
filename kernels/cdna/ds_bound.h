// What dS can be at most, for matrix cores that flush subnormal numbers.
#pragma once

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

/// Bytes of `norms`.
inline constexpr std::size_t kNormsBytes = 2 * sizeof(float);

/// norms[0] and norms[1]: the squares of the largest norms of a row of dO and of a row of V, of fp16.
void launch_ds_bound(const Problem& problem, const DeviceTensors& tensors, float* norms, hipStream_t stream);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
