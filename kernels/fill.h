// Random inputs, drawn on the device.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "base/dtype.h"
#include "base/problem.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// Draws the `elements` elements of stream number `stream_number` into `data`, of type `dtype`, with the
/// values that base/random.h defines.
void launch_fill(void* data, DType dtype, std::int64_t elements, std::uint64_t stream_number,
                 const Fill& fill, hipStream_t stream);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
