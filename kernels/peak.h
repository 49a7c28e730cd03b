// The arithmetic that a device can do at most.
#pragma once

#include "base/dtype.h"
#include "kernels/backend.h"

namespace fmha_bwd {

/// FLOPs a second of `device` in products of `dtype` with fp32 sums, dense, at the largest clock that it says
/// it has; on matrix units for fp16 and bf16, on vector units for fp32. 0 where the architecture's rate or
/// the device's clock is not known.
double peak_flops(const Device& device, DType dtype);

}  // namespace fmha_bwd
