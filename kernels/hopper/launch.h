// What the launchers of the hopper kernels share; the launchers themselves, one a kernel.
#pragma once

#include "kernels/family.h"
#include "kernels/hip_check.h"
#include "kernels/hopper/errand_plan.h"
#include "kernels/hopper/factors.h"
#include "kernels/hopper/sequences.h"
#include "kernels/hopper/share_out.h"
#include "kernels/hopper/staircase.h"
#include "kernels/hopper/tiling.h"
#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Under a Staircase, in batch mode.
void launch_forward(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                    hipStream_t stream);
void launch_dot_do_o(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                     hipStream_t stream);
void launch_dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                     hipStream_t stream);
/// Of scores with a soft-cap, ALiBi or dropout: of head dimensions up to 128, under a Staircase, in batch
/// mode, not deterministic.
void launch_scored_dq_dk_dv(const Problem& problem, const MaskRule& mask, const DeviceTensors& tensors,
                            hipStream_t stream);
void launch_convert_dq(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream);

/// The parts of scratch, from stage 1 to stage 2; rows are padded to whole tiles of queries.
struct Scratch {
  PlannedWalk* plan = nullptr;  // [walks], see plan.h
  float* lse_log2 = nullptr;  // [planes, plane_tiles, kM]: LSE log2 e - Factors::lse_less; +infinity where P
                              // is to be 0: in rows that see no key, and in those past seqlen_q
  float* d = nullptr;         // [planes, plane_tiles, kM]: D Factors::d; 0 past seqlen_q
  float* sums = nullptr;      // [shared key tiles, kKeyTileElements]: dK / scale and dV; zero before stage 2
  unsigned* arrivals = nullptr;     // [shared key tiles, 2]: walks that have added; zero before stage 2
  unsigned* walks_taken = nullptr;  // zero before stage 2
  unsigned* turns = nullptr;        // [planes, plane_tiles] of a deterministic problem; zero before stage 2
  unsigned* prepared = nullptr;     // [key heads], where walks have errands (errands.h); zero before stage 2
  unsigned* visited = nullptr;      // the same
  std::int64_t zeroed = 0;          // floats and counters from sums on, a multiple of 4
  int* key_tiles_before = nullptr;  // [batch] in group mode: tiles of keys of a head before each sequence
  int2* seen = nullptr;             // [seqlen_k] in batch mode, else [rows of keys]: see seen.h
  std::int64_t bytes = 0;
};

/// Multiprocessors of the current device; asked for once a device.
std::int64_t processors();

/// Whether a head dimension is above 128.
inline bool is_wide(const Problem& problem) { return problem.hdim_q > 128 || problem.hdim_v > 128; }

/// Whether stages 1 and 3 are errands of stage 2 (errands.h), rather than launches of their own, but for what
/// the walks want planned.
inline bool runs_errands(const Problem& p) {
  constexpr std::int64_t kMinTiles = 8;  // of queries of a head: with fewer it was slower
  const std::int64_t tile = p.hdim_q <= 64 && p.hdim_v <= 64 ? Tiling<64>::kM : Tiling<128>::kM;
  return !is_wide(p) && !p.grouped() && !p.deterministic && p.plain_scores() &&
         divided_up(p.seqlen_q, tile) >= kMinTiles;
}

/// The share-out of a problem's tiles of keys on the current device, whatever the mask: no other has as many
/// walks. A deterministic problem's are not shared: dK and dV of a shared tile are summed in any order.
template <int kHeadDim>
ShareOut share_out_of(const Problem& problem) {
  if (problem.deterministic) return {all_key_tiles<kHeadDim>(problem), 0, 1};
  return share_out(all_key_tiles<kHeadDim>(problem), query_tiles<kHeadDim>(problem) * problem.group_size(),
                   processors());
}

template <int kHeadDim>
ShareOut share_out_of(const Problem& p, const MaskRule& mask) {
  const bool alike = !p.grouped() && all_see_all(mask, p.seqlen_q, p.seqlen_k);
  return for_walks(share_out_of<kHeadDim>(p), alike);
}

/// Walks over keys and of errands.
template <int kHeadDim>
std::int64_t all_walks(const Problem& p, const ShareOut& share) {
  if (!runs_errands(p)) return share.walks();
  const ErrandPlan plan =
      errand_plan(p.batch * p.nhead_k, p.group_size() * plane_tiles<kHeadDim>(p),
                  divided_up(p.seqlen_k, Tiling<kHeadDim>::kN), share.parts, 1, processors());
  return share.walks() + plan.between(static_cast<int>(share.walks())) + 2 * plan.ends;
}

/// Where the parts begin in the family's scratch, which starts at `start`.
template <int kHeadDim>
Scratch scratch_of(const Problem& problem, void* start) {
  const std::int64_t rows = padded_rows<kHeadDim>(problem);
  const ShareOut share = share_out_of<kHeadDim>(problem);
  const std::int64_t shared = share.shared;
  const std::int64_t sums = shared * Tiling<kHeadDim>::kKeyTileElements;
  Scratch scratch;
  const std::int64_t turns = problem.deterministic ? all_query_tiles<kHeadDim>(problem) : 0;
  const std::int64_t heads = runs_errands(problem) ? problem.batch * problem.nhead_k : 0;
  scratch.zeroed = sums + divided_up(2 * shared + 1 + turns + 2 * heads, 4) * 4;
  const std::int64_t table = problem.grouped() ? divided_up(problem.batch, 2) * 2 : 0;
  const std::int64_t keys = problem.grouped() ? device_rows_k(problem) : problem.seqlen_k;
  const std::int64_t walks = all_walks<kHeadDim>(problem, share);
  const std::int64_t plan = walks * static_cast<std::int64_t>(sizeof(PlannedWalk));
  scratch.bytes =
      plan + (2 * rows + scratch.zeroed + table + 2 * keys) * static_cast<std::int64_t>(sizeof(float));
  if (start == nullptr) return scratch;
  scratch.plan = static_cast<PlannedWalk*>(start);
  scratch.lse_log2 = reinterpret_cast<float*>(scratch.plan + walks);
  scratch.d = scratch.lse_log2 + rows;
  scratch.sums = scratch.d + rows;
  scratch.arrivals = reinterpret_cast<unsigned*>(scratch.sums + sums);
  scratch.walks_taken = scratch.arrivals + 2 * shared;
  if (turns > 0) scratch.turns = scratch.walks_taken + 1;
  if (heads > 0) scratch.prepared = scratch.walks_taken + 1;
  if (heads > 0) scratch.visited = scratch.prepared + heads;
  scratch.key_tiles_before = reinterpret_cast<int*>(scratch.sums + scratch.zeroed);
  scratch.seen = reinterpret_cast<int2*>(scratch.key_tiles_before + table);
  return scratch;
}

/// What `body.template operator()<T, kHeadDim>()` returns, for a problem that the family takes and that is
/// not wide: kHeadDim is the smallest that holds the problem's own. The copy engine fills the columns after
/// those with zeros.
template <class Body>
auto with_narrow_types(const Problem& problem, const Body& body) {
  const bool small = problem.hdim_q <= 64 && problem.hdim_v <= 64;
  if (problem.dtype == DType::fp16) {
    if (small) return body.template operator()<Half, 64>();
    return body.template operator()<Half, 128>();
  }
  if (small) return body.template operator()<Bfloat16, 64>();
  return body.template operator()<Bfloat16, 128>();
}

/// The same, whatever the head dimensions.
template <class Body>
auto with_types(const Problem& problem, const Body& body) {
  const auto wide = [&]<class T>() {
    if (problem.hdim_q > 192 || problem.hdim_v > 192) return body.template operator()<T, 256>();
    if (problem.hdim_v > 128) return body.template operator()<T, 192>();
    return body.template operator()<T, head_dims(192, 128)>();
  };
  if (!is_wide(problem)) return with_narrow_types(problem, body);
  return problem.dtype == DType::fp16 ? wide.template operator()<Half>()
                                      : wide.template operator()<Bfloat16>();
}

/// The planes of a problem's tiles of queries.
template <int kHeadDim>
Planes<Tiling<kHeadDim>::kM> planes_of(const Problem& problem, const DeviceTensors& tensors) {
  return {tensors.sequences,
          static_cast<int>(problem.seqlen_q),
          static_cast<int>(problem.seqlen_k),
          static_cast<int>(problem.batch),
          static_cast<int>(problem.nhead_q),
          static_cast<int>(plane_tiles<kHeadDim>(problem))};
}

/// Starts `threads` threads in each of `blocks` blocks, of which there may be none, with `shared_bytes` bytes
/// of dynamic shared memory. They may come while the launch before ends: ptx/dependence.h.
template <class Arguments>
void launch(void (*kernel)(Arguments), std::int64_t blocks, int threads, std::size_t shared_bytes,
            hipStream_t stream, const Arguments& arguments) {
  if (blocks == 0) return;
  FMHA_BWD_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                   hipFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_bytes)));
  cudaLaunchAttribute overlaps = {};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlaps;
  config.numAttrs = 1;
  FMHA_BWD_HIP(cudaLaunchKernelEx(&config, kernel, arguments));
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
