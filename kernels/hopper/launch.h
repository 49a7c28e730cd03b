// What the launchers of the hopper kernels share; the launchers themselves, one a kernel.
#pragma once

#include <utility>

#include "kernels/family.h"
#include "kernels/hip_check.h"
#include "kernels/hopper/tiling.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

void launch_forward(const Problem& problem, const Mask& mask, const DeviceTensors& tensors, hipStream_t stream);
void launch_dot_do_o(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
void launch_dq_dk_dv(const Problem& problem, const Mask& mask, const DeviceTensors& tensors, hipStream_t stream);
void launch_convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);

/// The parts of scratch, from stage 1 to stage 2; rows are padded to whole tiles of queries.
struct Scratch {
  float* lse_log2;  // [batch, nhead_q, padded rows]: LSE log2 e; +infinity where P is to be 0: in rows that see no key, and
                    // in those past seqlen_q
  float* d;         // [batch, nhead_q, padded rows]: D; 0 past seqlen_q
};

/// Rows of all heads, each head's padded to whole tiles.
template <int kHeadDim>
std::int64_t padded_rows(const Problem& problem) {
  return problem.batch * problem.nhead_q * query_tiles<kHeadDim>(problem) * Tiling<kHeadDim>::kM;
}

template <int kHeadDim>
Scratch scratch_of(const Problem& problem, const DeviceTensors& tensors) {
  auto* const floats = static_cast<float*>(tensors.scratch);
  return {floats, floats + padded_rows<kHeadDim>(problem)};
}

/// Calls `body.template operator()<T, kHeadDim>()` for a problem that the family takes.
template <class Body>
void with_types(const Problem& problem, Body&& body) {
  if (problem.dtype == DType::fp16) {
    if (problem.hdim_q == 64) return body.template operator()<Half, 64>();
    return body.template operator()<Half, 128>();
  }
  if (problem.hdim_q == 64) return body.template operator()<Bfloat16, 64>();
  return body.template operator()<Bfloat16, 128>();
}

/// Starts `threads` threads in each of `blocks` blocks with `shared_bytes` bytes of dynamic shared memory.
template <class Arguments>
void launch(void (*kernel)(Arguments), std::int64_t blocks, int threads, std::size_t shared_bytes, hipStream_t stream,
            const Arguments& arguments) {
  FMHA_BWD_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                   hipFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  hipLaunchKernelGGL(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), shared_bytes,
                     stream, arguments);
  check_launch("the launch of a hopper kernel");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
