// What the simt kernels' launchers share; the launchers themselves, one a kernel.
#pragma once

#include "kernels/dispatch.h"
#include "kernels/family.h"
#include "kernels/launch.h"
#include "kernels/simt/tile.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {

void launch_forward(const Problem& problem, const Mask& mask, const DeviceTensors& tensors,
                    hipStream_t stream);
void launch_dot_do_o(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
void launch_dq_dk_dv(const Problem& problem, const Mask& mask, const DeviceTensors& tensors,
                     hipStream_t stream);
void launch_convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);

/// Where stage 2 adds up dQ in fp32: in dQ itself, or in dq_acc, which is bhsd in every layout.
inline View<float> sum_of_dq(const Problem& problem, const DeviceTensors& tensors) {
  if (problem.dtype == DType::fp32) return view_of<float>(tensors.dq, TensorId::dq, problem);
  const Shape shape = shape_of(TensorId::dq, problem);
  return view_of<float>(tensors.dq_acc, shape, strides_of(shape, Layout::bhsd));
}

/// Calls `body.template operator()<kHeadDim>()` with the smallest compiled head dimension that holds `hdim`.
template <class Body>
void with_head_dim(std::int64_t hdim, Body&& body) {
  if (hdim <= 64) return body.template operator()<64>();
  if (hdim <= 128) return body.template operator()<128>();
  return body.template operator()<256>();
}

/// Starts kThreads threads in each of `blocks` workgroups with `shared_floats` floats of shared memory.
template <class Arguments>
void launch(void (*kernel)(Arguments), unsigned blocks, int shared_floats, hipStream_t stream,
            const Arguments& arguments) {
  launch_kernel(kernel, blocks, kThreads, shared_floats * static_cast<int>(sizeof(float)), stream, arguments,
                "the launch of a simt kernel");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
