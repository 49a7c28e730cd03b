// Random inputs, drawn on the device.
#pragma once

#include <hip/hip_runtime.h>

#include "base/problem.h"
#include "base/tensor.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// Draws the problem's tensor `id` into `data`, with the values that base/random.h defines: an element's
/// value is that of its place in row-major order, whatever the problem's layout. Throws Error (device_error)
/// when the launch cannot start.
void launch_fill(void* data, TensorId id, const Problem& problem, const Fill& fill, hipStream_t stream);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
