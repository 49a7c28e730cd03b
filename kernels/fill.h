// Random inputs, drawn on the device.
#pragma once

#include <hip/hip_runtime.h>

#include "base/fill.h"
#include "base/problem.h"
#include "base/sequences.h"
#include "base/tensor.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// Draws the problem's tensor `id`, whose first element is at `data`, with the values that base/fill.h
/// defines: an element's value is that of its place in row-major order, whatever the problem's layout, and
/// padding is left as it is. `sequences` [batch] is on the device, and used in group mode alone. Throws Error
/// (device_error) when the launch cannot start.
void launch_fill(void* data, TensorId id, const Problem& problem, const Fill& fill, const Sequence* sequences,
                 hipStream_t stream);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
