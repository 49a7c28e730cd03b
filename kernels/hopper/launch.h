// What the launchers of the hopper kernels share; the launchers themselves, one a kernel.
#pragma once

#include "kernels/family.h"
#include "kernels/hopper/factors.h"
#include "kernels/hopper/share_out.h"
#include "kernels/hopper/tiling.h"
#include "kernels/launch.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

void launch_forward(const Problem& problem, const Staircase& mask, const DeviceTensors& tensors,
                    hipStream_t stream);
void launch_dot_do_o(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);
void launch_plain_dq_dk_dv(const Problem& problem, const Staircase& mask, const DeviceTensors& tensors,
                           hipStream_t stream);
void launch_scored_dq_dk_dv(const Problem& problem, const Staircase& mask, const DeviceTensors& tensors,
                            hipStream_t stream);
void launch_convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);

/// The parts of scratch, from stage 1 to stage 2; rows are padded to whole tiles of queries.
struct Scratch {
  float* lse_log2 = nullptr;     // [batch, nhead_q, padded rows]: LSE log2 e - Factors::lse_less; +infinity
                                 // where P is to be 0: in rows that see no key, and in those past seqlen_q
  float* d = nullptr;            // [batch, nhead_q, padded rows]: D Factors::d; 0 past seqlen_q
  float* sums = nullptr;         // [shared key tiles, 2, kN * hdim]: dK / scale and dV; zero before stage 2
  unsigned* arrivals = nullptr;  // [shared key tiles]: blocks that have added; zero before stage 2
  std::int64_t zeroed = 0;       // floats and counters from sums on, a multiple of 4
  std::int64_t bytes = 0;
};

/// Multiprocessors of the current device; asked for once a device.
std::int64_t processors();

/// The share-out of a problem's tiles of keys on the current device, whatever the mask.
template <int kHeadDim>
ShareOut share_out_of(const Problem& problem) {
  return share_out(key_tiles<kHeadDim>(problem) * problem.batch * problem.nhead_k,
                   query_tiles<kHeadDim>(problem) * problem.group_size(), processors());
}

/// Where the parts begin in the family's scratch, which starts at `start`.
template <int kHeadDim>
Scratch scratch_of(const Problem& problem, void* start) {
  const std::int64_t rows = padded_rows<kHeadDim>(problem);
  const std::int64_t shared = share_out_of<kHeadDim>(problem).shared;
  const std::int64_t sums = shared * 2 * Tiling<kHeadDim>::kKeyTileElements;
  Scratch scratch;
  scratch.zeroed = sums + divided_up(shared, 4) * 4;
  scratch.bytes = (2 * rows + scratch.zeroed) * static_cast<std::int64_t>(sizeof(float));
  if (start == nullptr) return scratch;
  scratch.lse_log2 = static_cast<float*>(start);
  scratch.d = scratch.lse_log2 + rows;
  scratch.sums = scratch.d + rows;
  scratch.arrivals = reinterpret_cast<unsigned*>(scratch.sums + sums);
  return scratch;
}

/// What `body.template operator()<T, kHeadDim>()` returns, for a problem that the family takes.
template <class Body>
auto with_types(const Problem& problem, Body&& body) {
  if (problem.dtype == DType::fp16) {
    if (problem.hdim_q == 64) return body.template operator()<Half, 64>();
    return body.template operator()<Half, 128>();
  }
  if (problem.hdim_q == 64) return body.template operator()<Bfloat16, 64>();
  return body.template operator()<Bfloat16, 128>();
}

/// Starts `threads` threads in each of `blocks` blocks with `shared_bytes` bytes of dynamic shared memory.
template <class Arguments>
void launch(void (*kernel)(Arguments), std::int64_t blocks, int threads, std::size_t shared_bytes,
            hipStream_t stream, const Arguments& arguments) {
  launch_kernel(kernel, blocks, threads, static_cast<int>(shared_bytes), stream, arguments,
                "the launch of a hopper kernel");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
