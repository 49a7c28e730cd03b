// One launch of a kernel that takes its arguments in one struct.
#pragma once

#include <cstdint>

#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// Starts `threads` threads in each of `blocks` blocks, fewer than 2^32, with `shared_bytes` bytes of dynamic
/// shared memory. Throws Error (device_error) that names `what` where the launch cannot start.
template <class Arguments>
void launch_kernel(void (*kernel)(Arguments), std::int64_t blocks, int threads, int shared_bytes,
                   hipStream_t stream, const Arguments& arguments, const char* what) {
  FMHA_BWD_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                   hipFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  hipLaunchKernelGGL(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
                     static_cast<unsigned>(shared_bytes), stream, arguments);
  check_launch(what);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
