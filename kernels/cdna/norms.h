// How large inputs are, for matrix cores that flush subnormal numbers.
#pragma once

#include "kernels/family.h"
#include "kernels/matrix/input_scales.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

/// norms[matrix::kNorms]: the squares of the largest norms of a row of Q, K, V and, where `with_d_o`, of dO,
/// else 0; all of fp16.
void launch_norms(const Problem& problem, const DeviceTensors& tensors, bool with_d_o, float* norms,
                  hipStream_t stream);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
