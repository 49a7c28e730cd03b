// What the simt kernels' launchers share; the launchers themselves, one a kernel.
#pragma once

#include "base/divided_up.h"
#include "kernels/dispatch.h"
#include "kernels/family.h"
#include "kernels/launch.h"
#include "kernels/simt/tile.h"
#include "kernels/view.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {

void launch_forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                    hipStream_t stream);
void launch_dot_do_o(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
void launch_dsink(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
void launch_dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                     hipStream_t stream);
void launch_dq(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
               hipStream_t stream);
void launch_dbias(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                  hipStream_t stream);
void launch_convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);

/// Whether stage 2 adds dQ up in dQ itself: only where that is fp32 and nothing else stands among its rows.
inline bool adds_into_dq(const Problem& problem) {
  return problem.dtype == DType::fp32 && !has_padding(problem) && problem.layout != Layout::qkv;
}

/// dq_acc is [batch, nhead_q, rows on the device, hdim_q], contiguous, in every layout; batch is 1 in group
/// mode.
inline Shape dq_acc_shape(const Problem& problem) {
  Shape shape = shape_of(TensorId::dq, problem);
  shape.row = device_rows_q(problem);
  return shape;
}
inline View<float> dq_acc_of(const Problem& problem, const DeviceTensors& tensors) {
  const Shape shape = dq_acc_shape(problem);
  return view_of<float>(tensors.dq_acc, shape.column,
                        {shape.head * shape.row * shape.column, shape.row * shape.column, shape.column});
}

inline SequenceTable sequence_table(const Problem& problem, const DeviceTensors& tensors) {
  return {tensors.sequences, problem.seqlen_q, problem.seqlen_k};
}

/// Calls `body.template operator()<kHeadDim>()` with the smallest compiled head dimension that holds `hdim`.
template <class Body>
void with_head_dim(std::int64_t hdim, Body&& body) {
  if (hdim <= 64) return body.template operator()<64>();
  if (hdim <= 128) return body.template operator()<128>();
  if (hdim <= 256) return body.template operator()<256>();
  return body.template operator()<512>();
}

/// Workgroups that a multiprocessor should hold, with the accumulators of `head_dim` columns in registers.
constexpr int workgroups_for(int head_dim) { return head_dim <= 256 ? 2 : 1; }

/// Starts kThreads threads in each of `blocks` workgroups, of which there may be none, with `shared_floats`
/// floats of shared memory.
template <class Arguments>
void launch(void (*kernel)(Arguments), std::int64_t blocks, int shared_floats, hipStream_t stream,
            const Arguments& arguments) {
  if (blocks == 0) return;
  launch_kernel(kernel, blocks, kThreads, shared_floats * static_cast<int>(sizeof(float)), stream, arguments,
                "the launch of a simt kernel");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
