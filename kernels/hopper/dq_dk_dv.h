// Backward stage 2 on Hopper's tensor cores: dQ, dK and dV in one pass over the scores.
//
//   S = scale Q K^T,  P = exp(S - LSE),  dP = dO V^T,  dS = P (dP - D)
//   dV = P^T dO,  dK = scale dS^T Q,  dQ += dS K     (stage 3 scales dQ)
//
// for plain scores; featured_scores.h has P and dS of the others.
//
// Tiling (of head dimensions up to 128; wide.h has those above): a walk is over the tiles of queries that see
// any of kN = 128 keys of one key head, for every query head of the group, or over a share of them
// (share_out.h). There is one block a multiprocessor, which takes one walk after another (load.h). One thread
// loads by the copy engine. Two warpgroups multiply, 64 keys each; for a tile of kM queries a warpgroup does
//   1. S^T = K Q^T and dP^T = V dO^T, both operands from shared memory;
//   2. P of S while dP is multiplied, then dS of dP, both in registers;
//   3. dV += P^T dO and dK += dS^T Q: P and dS, packed to 16 bits, are the left operands, still in registers;
//   4. dS^T to shared memory for the products dS K;
//   5. its half of dQ of the visit before, added to the accumulator from registers.
//
// Why it is fast: five products, each operand loaded into shared memory once; only dS crosses from warpgroup
// to warpgroup, and a visit late, so that neither waits for the other. They run half a tile apart, one with
// its exponentials while the other multiplies: in each walk the second begins when the first has issued all
// products of its first tile, and contention for the tensor cores keeps them apart from then on. Nothing is
// awaited between one walk and the next: K, V and the first tiles are there, the last dQ of one walk is made
// in the first tile of the next, and dK and dV leave from registers. Masks are looked at on boundary tiles
// only, tiles that nobody sees are skipped, the first also by the second warpgroup alone, and walks with the
// most tiles come first.
//
// Budget at hdim 128 (kM = 64): 64 + 64 sums of dK and dV, 32 of S, 32 of dP (dQ's after it) of 240 registers
// a thread; 227 KB of shared memory; one block an SM. At hdim 64 (kM = 128): 32 + 32, 64 and 64 registers,
// 212 KB.
//
// Bound: for a tile the tensor cores and shared memory are busy for about 2560 clocks each; docs/hopper.md
// has the account.
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#include "kernels/hopper/errands.h"
#include "kernels/hopper/featured_scores.h"
#include "kernels/hopper/load.h"
#include "kernels/hopper/ptx/dependence.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/scores.h"
#include "kernels/hopper/seen.h"
#include "kernels/hopper/sums.h"
#include "kernels/hopper/tile_out.h"
#include "kernels/hopper/turns.h"
#include "kernels/hopper/wide.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// sums += weights^T rows: dV of P and dO, dK of dS and Q. Replaces the sums where `adds` is false. Commits.
template <class T, int kHeadDim>
__device__ __forceinline__ void multiply_rows(float (&sums)[kHeadDim / 2],
                                              const std::uint32_t (&weights)[Tiling<kHeadDim>::kM / 16][4],
                                              const std::byte* rows, bool adds) {
  using Tile = Tiling<kHeadDim>;
  const std::uint64_t right = descriptor(rows, Tile::kQueryPanelBytes);
  products_begin();
  FMHA_BWD_UNROLL
  for (int i = 0; i < Tile::kM / 16; ++i) {
    multiply<T, kHeadDim, true>(sums, weights[i], moved(right, i * 16 * kPanelRowBytes), adds || i > 0);
  }
  products_commit();
}

/// A half of dQ = dS K (hdim 128: 64 of the columns), or of dQ^T = K^T dS^T (hdim 64: 64 of the queries).
/// Commits.
template <class T, int kHeadDim, int kHalf>
__device__ __forceinline__ void multiply_dq(float (&dq)[32], const std::byte* ds, const std::byte* k) {
  using Tile = Tiling<kHeadDim>;
  const bool transposed = kHeadDim == 64;
  const std::uint64_t of_ds = descriptor(ds + (transposed ? kHalf * Tile::kDsPanelBytes : 0));
  const std::uint64_t of_k = descriptor(k + (transposed ? 0 : kHalf * Tile::kKeyPanelBytes));
  products_begin();
  FMHA_BWD_UNROLL
  for (int i = 0; i < Tile::kN / 16; ++i) {
    const std::uint64_t a = moved(transposed ? of_k : of_ds, i * 16 * kPanelRowBytes);
    const std::uint64_t b = moved(transposed ? of_ds : of_k, i * 16 * kPanelRowBytes);
    if (i == 0)
      multiply<T, 64, true, true, true>(dq, a, b);
    else
      multiply<T, 64, false, true, true>(dq, a, b);
  }
  products_commit();
}

/// dK / scale and dV of a shared tile of keys: adds this walk's sums to the others'. True in the last walk to
/// come, which then holds the whole sums.
template <int kHeadDim, int kHalf>
__device__ __forceinline__ bool join_sums(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared,
                                          const Walk& walk, float (&dk)[kHeadDim / 2],
                                          float (&dv)[kHeadDim / 2]) {
  constexpr int kQuarter = Tiling<kHeadDim>::kKeyTileElements / 4;
  float* const dk_sums =
      a.sums + (static_cast<std::int64_t>(walk.shared) * 4 + kHalf) * kQuarter + 4 * thread_of_warpgroup();
  float* const dv_sums = dk_sums + 2 * kQuarter;
  add_sums(dk_sums, dk);
  add_sums(dv_sums, dv);
  if (!is_last_to_add<kHalf>(a, shared, walk)) return false;
  read_sums(dk, dk_sums);
  read_sums(dv, dv_sums);
  return true;
}

/// Adds a warpgroup's half of dQ of the last visit, for which nothing has come after; K in `k_stage` is free
/// then, which the loading warp is told of where kFreesK.
template <class T, int kHeadDim, bool kHasTurns, int kHalf, bool kFreesK>
__device__ __forceinline__ void add_last_dq(const DqDkDvArguments<kHeadDim>& a,
                                            SharedMemory<kHeadDim>& shared, int k_stage,
                                            Progress<kHeadDim>& progress) {
  auto& [visits, ring, ds_out, ds_in] = progress;
  float dq[32];
  barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
  multiply_dq<T, kHeadDim, kHalf>(dq, shared.ds[ds_in.stage], shared.k[k_stage]);
  products_wait<0>();
  products_finished(dq);
  __syncwarp();
  if (arrives(thread_of_warpgroup() % 32)) barrier_arrive(shared.ds_empty[ds_in.stage]);
  ds_in.advance();
  take_turn<kHasTurns>(shared, visits - 1);
  add_sums(dq_of_visit<kHalf>(a, shared, visits - 1), dq);
  give_turn<kHasTurns>(shared, visits - 1);
  if (!kFreesK) return;
  __syncwarp();
  if (arrives(thread_of_warpgroup() % 32)) barrier_arrive(shared.k_empty[k_stage]);
}

/// The second warpgroup's part in a visit in which none of its keys is seen, when there is no visit before:
/// its dS is zero.
template <int kHeadDim>
__device__ __forceinline__ void skip_visit(SharedMemory<kHeadDim>& shared, Progress<kHeadDim>& progress) {
  auto& [visits, ring, ds_out, ds_in] = progress;
  constexpr int kBytes = 64 * kPanelRowBytes;
  barrier_wait(shared.ds_empty[ds_out.stage], ds_out.parity ^ 1);
  auto* const zeros = reinterpret_cast<uint4*>(shared.ds[ds_out.stage] + kBytes);
  FMHA_BWD_UNROLL
  for (int i = 0; i < kBytes / 16; i += kWarpgroup) zeros[i + thread_of_warpgroup()] = uint4{};
  fence_async_proxy();
  barrier_wait(shared.query_full[ring.stage], ring.parity);
  __syncwarp();
  if (arrives(thread_of_warpgroup() % 32)) {
    barrier_arrive(shared.ds_full[ds_out.stage]);
    barrier_arrive(shared.query_empty[ring.stage]);
  }
  ds_out.advance();
  ring.advance();
  ++visits;
}

/// One warpgroup's part in a walk whose K is in `k_stage`, and that of the visit before in `k_before`: S, dP,
/// dV and dK of keys 64 kHalf to 64 kHalf + 63 of the tile, and its half of dQ, but for the last visit's
/// where K has two places, which is made in the next walk; under a mask of type M.
template <class T, int kHeadDim, class M, bool kHasTurns, class Scores, int kHalf>
__device__ __forceinline__ void differentiate(const typename Scores::Arguments& a,
                                              SharedMemory<kHeadDim>& shared, const Walk& walk, int k_stage,
                                              int k_before, Progress<kHeadDim>& progress) {
  using Tile = Tiling<kHeadDim>;
  constexpr int kM = Tile::kM;
  constexpr bool kReadsAhead = kHeadDim == 128;  // hdim 64 has no registers left for it
  constexpr int kRowsBefore = kHalf * 64 * kPanelRowBytes;
  const int kept_thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int kept_lane = kept_thread % 32;
  const std::uint32_t matrix_row = matrix_offset(kept_thread / 32, kept_lane);
  const auto lane = [&] { return Scores::kKeepsThread ? kept_lane : thread_of_warpgroup() % 32; };
  const int tiles = walk.tiles - (kHalf == 1 && Scores::kSkips ? walk.skipped : 0);
  auto& [visits, ring, ds_out, ds_in] = progress;

  float dk[kHeadDim / 2];
  float dv[kHeadDim / 2];
  int t = 0;
  do {
    const int stage = ring.stage;
    float s[kM / 2];
    float dp[kM / 2];
    if (Scores::kNeedsHead) barrier_wait(shared.query_full[stage], ring.parity);
    const Scores scores(a, shared, walk, stage, walk.first_key + 64 * kHalf);
    // The first product's operands are ready before the wait (again, after draws, which the compiler moves
    // over no loop, and so not among the products). That a block has fewer visits than 2^31 is hidden from
    // it: it would form all addresses in K at the loop's start.
    const int k_now = Scores::kKeyStages == 1 ? 0 : k_stage + static_cast<int>(visits >> 31);
    const std::uint64_t of_k = descriptor(shared.k[k_now] + kRowsBefore);
    const std::uint64_t of_q = descriptor(shared.q[stage]);
    if (!Scores::kNeedsHead) asm volatile("" ::"l"(of_k), "l"(of_q));
    barrier_wait(shared.query_full[stage], ring.parity);
    multiply_scores<T, kHeadDim, kHeadDim>(s, of_k, of_q);
    multiply_scores<T, kHeadDim, kHeadDim>(dp, descriptor(shared.v + kRowsBefore),
                                           descriptor(shared.d_o[stage]));

    // P in the place of S
    float2 rows[kM / 8];
    if (kReadsAhead) read_rows<kM>(rows, shared.lse_log2[stage], lane());
    if (Scores::kNeedsHead) __syncwarp();  // for the compiler, which spills without it
    const int first_query = shared.first_query[stage];
    const bool hides = hides_some<M, kHalf, kHeadDim>(walk, first_query);
    products_wait<1>();
    products_finished(s);
    if (!kReadsAhead) read_rows<kM>(rows, shared.lse_log2[stage], lane());
    scores.exponentiate(a, s, rows);
    if (hides) hide_unseen<M, kHalf>(a, walk, s, first_query, scores.hidden(a));

    // dS of dP
    // For the compiler, which reads earlier without it, and then begins dS in front of dV's product.
    if (kReadsAhead) __syncwarp();
    if (kReadsAhead) read_rows<kM>(rows, shared.d[stage], lane());
    products_wait<0>();
    products_finished(dp);
    // V is free. Scored variants say so later: here some would spill.
    if (!Scores::kNeedsHead && t == tiles - 1 && arrives(lane())) barrier_arrive(shared.v_empty[kHalf]);
    if (!kReadsAhead) read_rows<kM>(rows, shared.d[stage], lane());
    std::uint32_t p[kM / 16][4];
    std::uint32_t ds[kM / 16][4];
    scores.differentiate(a, s, dp, shared.lse_log2[stage] + 2 * (lane() % 4),
                         shared.d[stage] + 2 * (lane() % 4), rows, p, ds);
    multiply_rows<T, kHeadDim>(dv, p, shared.d_o[stage], t > 0);

    const int k_behind = t > 0 ? k_stage : k_before;  // where K of the visit before is
    barrier_wait(shared.ds_empty[ds_out.stage], ds_out.parity ^ 1);
    const std::uint32_t to = shared_address(shared.ds[ds_out.stage] + kRowsBefore) + matrix_row;
    FMHA_BWD_UNROLL
    for (int i = 0; i < kM / 16; ++i) store_columns(to, i, Tile::kDsPanelBytes, ds[i]);
    multiply_rows<T, kHeadDim>(dk, ds, shared.q[stage], t > 0);
    fence_async_proxy();
    __syncwarp();
    if (arrives(lane())) barrier_arrive(shared.ds_full[ds_out.stage]);
    if (Scores::kNeedsHead && t == tiles - 1 && arrives(lane())) barrier_arrive(shared.v_empty[kHalf]);
    __syncwarp();
    ds_out.advance();

    // dQ of the visit before, of this walk or the one before. Where there is none a product of whatever
    // stands in K's place is made and thrown away, so that no branch parts the products in flight; its
    // address is formed, not used.
    const bool is_any = ds_in.stage == ds_out.stage;  // one of two is not added yet, or both
    if (is_any) barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
    float dq[32];
    multiply_dq<T, kHeadDim, kHalf>(dq, is_any ? shared.ds[ds_in.stage] : shared.k[0], shared.k[k_behind]);
    if (kHalf == 0 && t == 0) named_barrier_arrive<2 * kWarpgroup, 1>();
    float* dq_sums = dq_of_visit<kHalf>(a, shared, visits - 1);
    asm volatile("" : "+l"(dq_sums));  // not after the wait
    products_wait<0>();
    products_finished(dq);
    if (kHasTurns) __syncwarp();
    if (arrives(lane())) barrier_arrive(shared.query_empty[stage]);
    if (is_any) {
      if (arrives(lane())) barrier_arrive(shared.ds_empty[ds_in.stage]);
      ds_in.advance();
      take_turn<kHasTurns>(shared, visits - 1);
      add_sums(dq_sums, dq);
      give_turn<kHasTurns>(shared, visits - 1);
    }
    __syncwarp();
    if (is_any && k_behind != k_stage && arrives(lane())) barrier_arrive(shared.k_empty[k_behind]);
    ring.advance();
    ++visits;
  } while (++t < tiles);
  products_finished(dv);
  products_finished(dk);

  if (Scores::kKeyStages == 1) add_last_dq<T, kHeadDim, kHasTurns, kHalf, false>(a, shared, 0, progress);
  if (walk.shared >= 0 && !join_sums<kHeadDim, kHalf>(a, shared, walk, dk, dv)) return;
  store_rows<T, kHeadDim>(rows_of_dv<kHalf>(a, walk), 0, dv, Scores::dv_factor(a));
  store_rows<T, kHeadDim>(rows_of_dk<kHalf>(a, walk), 0, dk, a.scale);
}

/// All of a multiplying warpgroup's part in the block's walks: each with its K, its part of V and its visits;
/// what the walk before has left is finished where no visit follows, or the first one is skipped.
template <class T, int kHeadDim, class M, bool kHasTurns, class Scores, int kHalf>
__device__ __forceinline__ void differentiate_walks(const typename Scores::Arguments& a,
                                                    SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  constexpr bool kReadsV = !Tile::kWide || kHalf == 1;
  constexpr int kVPart = Tile::kWide ? 0 : kHalf;
  constexpr bool kErrands = kRunsErrands<Scores, kHasTurns>;
  Progress<kHeadDim> progress;
  const auto finish_before = [&](int k_stage) {
    if (progress.ds_in.stage == progress.ds_out.stage) return;
    if constexpr (Tile::kWide) {
      add_last_dq_in_parts<T, kHeadDim, kHasTurns, kHalf>(a, shared, k_stage, progress);
    } else {
      add_last_dq<T, kHeadDim, kHasTurns, kHalf, true>(a, shared, k_stage, progress);
    }
  };
  for (unsigned n = 0;; ++n) {
    const int k_stage = static_cast<int>(n % Scores::kKeyStages);
    barrier_wait(shared.k_full[k_stage], n / Scores::kKeyStages % 2);
    const Walk& walk = shared.walks[n % kWalks<Scores, kHeadDim>];
    const bool skips = kHalf == 1 && Scores::kSkips && walk.skipped > 0;
    if (Scores::kKeyStages == 2 && (walk.tiles <= 0 || skips)) finish_before(k_stage ^ 1);
    if (walk.tiles == kNoWalk) {
      if (Tile::kWide && kHalf == 0 && progress.visits > 0) named_barrier<2 * kWarpgroup, kPRead>();
      return;
    }
    const int k_before = skips || Scores::kKeyStages == 1 ? k_stage : k_stage ^ 1;
    if (kReadsV) barrier_wait(shared.v_full[kVPart], n % 2);
    if (skips) skip_visit(shared, progress);
    if (!Tile::kWide && kHalf == 1 && walk.tiles > 0) named_barrier<2 * kWarpgroup, 1>();
    if (walk.tiles > 0) {
      if constexpr (!Tile::kWide) {
        differentiate<T, kHeadDim, M, kHasTurns, Scores, kHalf>(a, shared, walk, k_stage, k_before, progress);
        if (Scores::kKeyStages == 1) {
          __syncwarp();
          if (arrives(thread_of_warpgroup() % 32)) barrier_arrive(shared.k_empty[0]);
        }
      } else if constexpr (kHalf == 0) {
        differentiate_values<T, kHeadDim, M, kHasTurns>(a, shared, walk, k_stage, k_before, progress);
      } else {
        differentiate_keys<T, kHeadDim, kHasTurns>(a, shared, walk, k_stage, k_before, progress);
      }
    } else {
      if (walk.parts == 0 && kHalf < Tile::kVParts) {  // nobody sees these keys
        store_zero_rows(rows_of_dv<kHalf>(a, walk));
        store_zero_rows(rows_of_dk<kHalf>(a, walk));
      }
      if constexpr (kErrands) run_errands<T, kHeadDim, kHalf>(a, shared, walk.errands, progress.ring);
      __syncwarp();
      if (arrives(thread_of_warpgroup() % 32)) {
        if (kReadsV) barrier_arrive(shared.v_empty[kVPart]);
        barrier_arrive(shared.k_empty[k_stage]);
      }
      __syncwarp();
    }
  }
}

template <bool kHasTurns, bool kErrands, int kHeadDim>
__device__ __forceinline__ void init_barriers(SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  constexpr unsigned kWarps = 8 * kArrivals;  // of those that multiply
  for (int s = 0; s < Tile::kKeyStages; ++s) {
    barrier_init(shared.k_full[s], 1);
    barrier_init(shared.k_empty[s], kWarps);
  }
  for (int part = 0; part < Tile::kVParts; ++part) {
    barrier_init(shared.v_full[part], 1);
    barrier_init(shared.v_empty[part], kWarps / 2);
  }
  for (int s = 0; s < Tile::kStages; ++s) {
    barrier_init(shared.query_full[s], 1);
    barrier_init(shared.query_empty[s], kWarps);
  }
  for (int s = 0; s < Tile::kDsStages; ++s) {
    barrier_init(shared.ds_full[s], Tile::kWide ? kWarps / 2 : kWarps);
    barrier_init(shared.ds_empty[s], kWarps);
  }
  if (kHasTurns) init_turns(shared);
  if (kErrands) init_errands(shared);
  shared.loading.walks = 0;
  shared.loading.visits = 0;
  shared.loading.prepared_head = shared.loading.visited_head = -1;
  shared.loading.ring = {};
  fence_barrier_init();
}

/// M: Staircase, or Mask for the masks that are none; kHasTurns: whether dQ's additions are, see turns.h;
/// kFeatures: what happens to the scores, see featured_scores.h.
template <class T, int kHeadDim, class M, bool kHasTurns, unsigned kFeatures>
__global__ __launch_bounds__(3 * kWarpgroup,
                             1) void dq_dk_dv_kernel(const __grid_constant__
                                                     typename ScoresOf<T, kHeadDim, kFeatures>::Arguments a) {
  follow_launch_before();
  using Scores = ScoresOf<T, kHeadDim, kFeatures>;
  using Tile = Tiling<kHeadDim>;
  extern __shared__ __align__(1024) std::byte raw[];
  auto& shared = *reinterpret_cast<SharedMemory<kHeadDim>*>(raw);
  constexpr bool kErrands = kRunsErrands<Scores, kHasTurns>;
  if (threadIdx.x == 0) init_barriers<kHasTurns, kErrands>(shared);
  __syncthreads();

  const int warpgroup = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (warpgroup == 0) {
    give_registers<24>();
    if (threadIdx.x < 32) load_walks<Scores, kHasTurns, kHeadDim>(a, shared);
    if constexpr (kErrands) {
      if (threadIdx.x == 32) tell_of_walks<kHeadDim>(a, shared);
    }
    if (kHasTurns && threadIdx.x == 32) await_turns<kHeadDim>(a, shared);
    if (kHasTurns && threadIdx.x == 64) pass_turns<kHeadDim>(a, shared, 0);
    if (kHasTurns && threadIdx.x == 96) pass_turns<kHeadDim>(a, shared, 1);
  } else if (warpgroup == 1) {
    take_registers<240>();
    differentiate_walks<T, kHeadDim, M, kHasTurns, Scores, 0>(a, shared);
  } else {
    take_registers<240>();
    differentiate_walks<T, kHeadDim, M, kHasTurns, Scores, 1>(a, shared);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
