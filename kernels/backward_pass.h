// The stages of a backward pass, one behind the other.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// Puts zero_dq, dot_do_o, dq_dk_dv and convert_dq into `stream`. `after` is called behind each of the four.
/// Throws Error (device_error) where a launch cannot start.
template <class After>
void enqueue_stages(const Problem& problem, const Family& family, const MaskRule& rule,
                    const DeviceTensors& tensors, hipStream_t stream, const After& after) {
  family.zero_dq(problem, tensors, stream);
  after();
  family.dot_do_o(problem, rule, tensors, stream);
  after();
  family.dq_dk_dv(problem, rule, tensors, stream);
  after();
  if (family.dq_acc_bytes(problem) > 0) family.convert_dq(problem, tensors, stream);
  after();
}
inline void enqueue_stages(const Problem& problem, const Family& family, const MaskRule& rule,
                           const DeviceTensors& tensors, hipStream_t stream) {
  enqueue_stages(problem, family, rule, tensors, stream, [] {});
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
