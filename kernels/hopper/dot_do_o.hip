// Backward stage 1:  D[row] = sum over the columns of dO[row] * O[row], and what stage 2 wants prepared:
// LSE in base 2, both padded to whole tiles of queries, the plan of its walks (plan.h), which queries see
// each key where the mask is not a Staircase (seen.h), and zeros in the accumulator of dQ and in the sums of
// shared tiles.
//
// Bound by memory: it reads dO and O once and writes the accumulator. A row's threads read 16 bytes each, one
// coalesced access a row, and add up by shuffles; the same threads zero the row's part of the accumulator.
// Blocks before those of the rows write plan and table, blocks after them zero the sums. The last rows come
// first, so that the L2 cache still holds the zeros that stage 2 adds to first.
//
// Where stage 2 prepares tiles itself (errands.h) there are no blocks of rows, but some that write LSE alone.
#include <algorithm>

#include "kernels/element.h"
#include "kernels/hopper/launch.h"
#include "kernels/hopper/plan.h"
#include "kernels/hopper/ptx/dependence.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

constexpr int kThreads = 256;

template <class T, int kHeadDim>
struct DotDoOArguments {
  const T* d_o;      // [batch, nhead_q, seqlen_q, hdim_v], by `strides`
  const T* o;        // [batch, nhead_q, seqlen_q, hdim_v], by `strides`
  const float* lse;  // [planes, rows_of_plane]
  float* d;          // [planes, rows_of_plane]
  Scratch scratch;
  float* dq_acc;  // [planes, plane_tiles, kM, kHdimQ]
  Strides strides;
  float lse_less;  // see factors.h
  float d_factor;
  int hdim_v;
  int rows_of_plane;
  Plan<kHeadDim> plan;
  int plan_blocks;
  int lse_blocks;
  int row_blocks;
};

/// Threads of a row, a power of 2: each has a pack of it, or nothing.
template <class T, int kHeadDim>
inline constexpr int kSharers =
    (Tiling<kHeadDim>::kHdimV == 192 ? 256 : Tiling<kHeadDim>::kHdimV) / Pack<T>::kSize;

/// LSE in base 2 of a row that does or does not exist.
__device__ __forceinline__ float lse_in_base_2(bool exists, const float* lse, float less) {
  return exists && *lse != -INFINITY ? *lse * kLog2E - less : INFINITY;
}

/// Block `block` of those that write nothing but that, where D is an errand of stage 2.
template <class T, int kHeadDim>
__device__ __forceinline__ void write_lse(const DotDoOArguments<T, kHeadDim>& a, int block) {
  constexpr int kM = Tiling<kHeadDim>::kM;
  const int tile = block * (kThreads / kM) + static_cast<int>(threadIdx.x) / kM;
  const int plane = tile / a.plan.planes.tiles;
  if (plane >= a.plan.planes.count * a.plan.planes.nhead_q) return;
  const int query = tile % a.plan.planes.tiles * kM + static_cast<int>(threadIdx.x) % kM;
  a.scratch.lse_log2[block * static_cast<std::int64_t>(kThreads) + threadIdx.x] =
      lse_in_base_2(query < a.plan.planes.seqlen_q,
                    a.lse + static_cast<std::int64_t>(plane) * a.rows_of_plane + query, a.lse_less);
}

/// Block `block` of `blocks` writes its part of the plan and of seen.h's table; in group mode there is one.
template <int kHeadDim, bool kGrouped>
__device__ __forceinline__ void write_plan(const Plan<kHeadDim>& plan, int block, int blocks) {
  if (kGrouped) {
    if (threadIdx.x < 32) {
      write_tiles_before(plan.key_tiles_before, plan.planes.count, [&](int n) {
        return static_cast<int>(divided_up(plan.planes.sequences[n].seqlen_k, Tiling<kHeadDim>::kN));
      });
    }
    __syncthreads();
  }
  const int over_keys = plan.key_walks();
  const int all = over_keys + plan.errands.between(over_keys) + 2 * plan.errands.ends;
  const int stride = kGrouped ? kThreads : all;
  for (int i = block * kThreads + static_cast<int>(threadIdx.x); i < all; i += stride) {
    if (i < over_keys) {
      write_walk<kGrouped>(plan, i);
    } else {
      write_errands(plan, i - over_keys);
    }
  }
  if (plan.seen == nullptr) return;
  constexpr int kWarps = kThreads / 32;
  const int warps = kGrouped ? kWarps : kWarps * blocks;
  const int tiles = seen_tiles<kGrouped>(plan);
  for (int tile = block * kWarps + static_cast<int>(threadIdx.x) / 32; tile < tiles; tile += warps) {
    write_seen<kGrouped>(plan, tile);
  }
}

template <class T, int kHeadDim, bool kGrouped>
__global__ __launch_bounds__(kThreads,
                             4) void dot_do_o_kernel(const __grid_constant__ DotDoOArguments<T, kHeadDim> a) {
  follow_launch_before();
  constexpr int kPackSize = Pack<T>::kSize;
  constexpr int kSharers = hopper::kSharers<T, kHeadDim>;
  constexpr int kRows = kThreads / kSharers;             // of a block
  constexpr int kBlocks = Tiling<kHeadDim>::kM / kRows;  // of a tile
  if (static_cast<int>(blockIdx.x) < a.plan_blocks) {
    write_plan<kHeadDim, kGrouped>(a.plan, static_cast<int>(blockIdx.x), a.plan_blocks);
    return;
  }
  const int lse_block = static_cast<int>(blockIdx.x) - a.plan_blocks;
  if (lse_block < a.lse_blocks) {
    write_lse(a, lse_block);
    return;
  }
  const int block = a.row_blocks - 1 - (lse_block - a.lse_blocks);
  if (block < 0) {
    const std::int64_t quad = static_cast<std::int64_t>(-1 - block) * kThreads + threadIdx.x;
    if (quad < a.scratch.zeroed / 4) reinterpret_cast<float4*>(a.scratch.sums)[quad] = float4{};
    return;
  }
  const int sharer = static_cast<int>(threadIdx.x) % kSharers;
  const int row_of_block = static_cast<int>(threadIdx.x) / kSharers;
  const QueryTile tile = a.plan.planes.template query_tile<kGrouped>(block / kBlocks);
  const int query = tile.first_query + block % kBlocks * kRows + row_of_block;
  const int row = tile.place + query;
  const bool exists = query < tile.seqlen_q;
  float sum = 0.0F;
  if (exists && sharer * kPackSize < a.hdim_v) {
    const std::int64_t at = a.strides.offset_of({tile.batch, tile.head, row, sharer * kPackSize});
    const Pack<T> d_o = *reinterpret_cast<const Pack<T>*>(a.d_o + at);
    const Pack<T> o = *reinterpret_cast<const Pack<T>*>(a.o + at);
    FMHA_BWD_UNROLL
    for (int i = 0; i < kPackSize; ++i) sum += to_float(d_o.elements[i]) * to_float(o.elements[i]);
  }
  FMHA_BWD_UNROLL
  for (int distance = kSharers / 2; distance > 0; distance /= 2) sum += __shfl_xor(sum, distance);
  if (sharer == 0) {
    const std::int64_t at = static_cast<std::int64_t>(tile.plane) * a.rows_of_plane + row;
    if (exists) a.d[at] = sum;
    const std::int64_t padded_row = static_cast<std::int64_t>(block) * kRows + row_of_block;
    a.scratch.lse_log2[padded_row] = lse_in_base_2(exists, a.lse + at, a.lse_less);
    a.scratch.d[padded_row] = sum * a.d_factor;
  }
  constexpr int kZeros = kRows * Tiling<kHeadDim>::kHdimQ / 4;
  auto* const zeros =
      reinterpret_cast<float4*>(a.dq_acc) + static_cast<std::int64_t>(block) * kZeros + threadIdx.x;
  FMHA_BWD_UNROLL
  for (int i = 0; i < kZeros; i += kThreads) {
    if (kZeros % kThreads == 0 || i + static_cast<int>(threadIdx.x) < kZeros) zeros[i] = float4{};
  }
}

/// Heads whose walks alternate: twice as many as have all their walks under way at a time, where additions to
/// dQ are in order (turns.h) or walks are of different lengths: the last to be taken are then the shortest of
/// some heads, and not of one.
std::int64_t alternating_heads(const Problem& p, const MaskRule& mask, std::int64_t key_tiles) {
  const bool alike = all_see_all(mask, p.seqlen_q, p.seqlen_k);
  if (key_tiles == 0 || (alike && !p.deterministic)) return 1;
  return std::max<std::int64_t>(2 * processors() / key_tiles, 1);
}

template <int kHeadDim>
Plan<kHeadDim> plan_of(const Problem& p, const MaskRule& mask, const DeviceTensors& t,
                       const Scratch& scratch) {
  const ShareOut share = share_out_of<kHeadDim>(p, mask);
  const std::int64_t key_tiles = divided_up(p.seqlen_k, Tiling<kHeadDim>::kN);
  const std::int64_t alternating = alternating_heads(p, mask, key_tiles);
  return {scratch.plan,
          scratch.key_tiles_before,
          Staircase::is_one(mask) ? nullptr : scratch.seen,
          planes_of<kHeadDim>(p, t),
          mask,
          static_cast<int>(share.owned + share.shared),
          static_cast<int>(key_tiles),
          static_cast<int>(p.nhead_k),
          static_cast<int>(p.group_size()),
          static_cast<int>(share.owned),
          static_cast<int>(share.parts),
          static_cast<int>(alternating),
          p.deterministic,
          runs_errands(p) ? errand_plan(p.batch * p.nhead_k, p.group_size() * plane_tiles<kHeadDim>(p),
                                        key_tiles, share.parts, alternating, processors())
                          : ErrandPlan{}};
}

}  // namespace

void launch_dot_do_o(const Problem& p, const MaskRule& mask, const DeviceTensors& t, hipStream_t stream) {
  with_types(p, [&]<class T, int kHeadDim>() {
    constexpr int kRows = kThreads / kSharers<T, kHeadDim>;
    static_assert(Tiling<kHeadDim>::kM % kRows == 0);
    const std::int64_t rows = padded_rows<kHeadDim>(p);
    const std::int64_t row_blocks = runs_errands(p) ? 0 : rows / kRows;
    const std::int64_t lse_blocks = runs_errands(p) ? divided_up(rows, kThreads) : 0;
    const Scratch scratch = scratch_of<kHeadDim>(p, t.scratch);
    const Factors factors(p);
    const Plan<kHeadDim> plan = plan_of<kHeadDim>(p, mask, t, scratch);
    const std::int64_t plan_blocks =
        p.grouped() ? 1 : divided_up(all_walks<kHeadDim>(p, share_out_of<kHeadDim>(p, mask)), kThreads);
    const std::int64_t blocks =
        plan_blocks + lse_blocks + row_blocks + divided_up(scratch.zeroed / 4, kThreads);
    const DotDoOArguments<T, kHeadDim> arguments = {static_cast<const T*>(t.d_o),
                                                    static_cast<const T*>(t.o),
                                                    t.lse,
                                                    t.d,
                                                    scratch,
                                                    t.dq_acc,
                                                    place_of(TensorId::d_o, p).strides,
                                                    factors.lse_less,
                                                    factors.d,
                                                    static_cast<int>(p.hdim_v),
                                                    static_cast<int>(device_rows_q(p)),
                                                    plan,
                                                    static_cast<int>(plan_blocks),
                                                    static_cast<int>(lse_blocks),
                                                    static_cast<int>(row_blocks)};
    launch(p.grouped() ? dot_do_o_kernel<T, kHeadDim, true> : dot_do_o_kernel<T, kHeadDim, false>, blocks,
           kThreads, 0, stream, arguments);
  });
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
