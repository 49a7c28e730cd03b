// Backward stage 2 on Hopper's tensor cores: dQ, dK and dV in one pass over the scores.
//
//   S = scale Q K^T,  P = exp(S - LSE),  dP = dO V^T,  dS = P (dP - D)
//   dV = P^T dO,  dK = scale dS^T Q,  dQ += dS K     (stage 3 scales dQ)
//
// for plain scores; featured_scores.h has P and dS of the others.
//
// Tiling (of head dimensions up to 128; wide.h has those above): a block owns kN = 128 keys of one key head
// (or shares them, share_out.h) and walks over the tiles of queries that see any of them, for every query
// head of the group. One thread loads by the copy engine. Two warpgroups multiply, 64 keys each; for a tile
// of kM queries a warpgroup does
//   1. S^T = K Q^T and dP^T = V dO^T, both operands from shared memory;
//   2. P of S while dP is multiplied, then dS of dP, both in registers;
//   3. dV += P^T dO and dK += dS^T Q: P and dS, packed to 16 bits, are the left operands, still in registers;
//   4. dS^T to shared memory for the products dS K;
//   5. its half of dQ of two tiles before, added to the accumulator from registers.
//
// Why it is fast: five products, each operand loaded into shared memory once; only dS crosses from warpgroup
// to warpgroup, and two tiles late, so that neither waits for the other. They run half a tile apart, one with
// its exponentials while the other multiplies: the second starts when the first has issued all products of
// its first tile, and contention for the tensor cores keeps them apart from then on. Masks are looked at on
// boundary tiles only, tiles that nobody sees are skipped, and of a head's blocks those with the most tiles
// start first.
//
// Budget at hdim 128 (kM = 64): 64 + 64 sums of dK and dV, 32 of S, 32 of dP (dQ's after it) of 240 registers
// a thread; 210 KB of shared memory; one block an SM. At hdim 64 (kM = 128): 32 + 32, 64 and 64 registers,
// 194 KB.
//
// Bound: for a tile the tensor cores and shared memory are busy for about 2560 clocks each; docs/hopper.md
// has the account.
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#include "kernels/hopper/featured_scores.h"
#include "kernels/hopper/ptx/dependence.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/scores.h"
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

/// dK / scale and dV of a shared tile of keys: adds this block's sums to the others'. True in the last block
/// to come, which then holds the whole sums.
template <int kHeadDim, int kHalf>
__device__ __forceinline__ bool join_sums(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared,
                                          float (&dk)[kHeadDim / 2], float (&dv)[kHeadDim / 2], int thread) {
  constexpr int kQuarter = Tiling<kHeadDim>::kKeyTileElements / 4;
  const int index = shared.walk.shared;
  float* const dk_sums = a.sums + (static_cast<std::int64_t>(index) * 4 + kHalf) * kQuarter + 4 * thread;
  float* const dv_sums = dk_sums + 2 * kQuarter;
  add_sums(dk_sums, dk);
  add_sums(dv_sums, dv);
  if (!is_last_to_add(a, shared, kHalf == 0 && thread == 0)) return false;
  read_sums(dk, dk_sums);
  read_sums(dv, dv_sums);
  return true;
}

/// One warpgroup's part in stage 2: S, dP, dV and dK of keys 64 kHalf to 64 kHalf + 63 of the tile, and its
/// half of dQ; under a mask of type M.
template <class T, int kHeadDim, class M, bool kOrdered, class Scores, int kHalf>
__device__ __forceinline__ void differentiate(const typename Scores::Arguments& a,
                                              SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  constexpr int kM = Tile::kM;
  constexpr bool kReadsAhead = kHeadDim == 128;  // hdim 64 has no registers left for it
  constexpr int kRowsBefore = kHalf * 64 * kPanelRowBytes;
  const int kept_thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int kept_lane = kept_thread % 32;
  const std::uint32_t matrix_row = matrix_offset(kept_thread / 32, kept_lane);
  const auto thread = [&] { return Scores::kKeepsThread ? kept_thread : thread_of_warpgroup(); };
  const auto lane = [&] { return Scores::kKeepsThread ? kept_lane : thread() % 32; };
  const int tiles = shared.walk.tiles;
  const auto dq_of_visit = [&](int t) {
    return a.dq_acc + static_cast<std::int64_t>(shared.tile_index[t & 7]) * Tile::kQueryTileElements +
           kHalf * (Tile::kQueryTileElements / 2) + 4 * thread_of_warpgroup();
  };

  float dk[kHeadDim / 2];
  float dv[kHeadDim / 2];
  Ring<Tile::kStages> ring;
  Ring<Tile::kDsStages> ds_out;
  Ring<Tile::kDsStages> ds_in;  // two tiles behind
  barrier_wait(shared.k_full, 0);
  barrier_wait(shared.v_full, 0);
  if (kHalf == 1) named_barrier<2 * kWarpgroup, 1>();

  int t = 0;
  do {
    const int stage = ring.stage;
    float s[kM / 2];
    float dp[kM / 2];
    barrier_wait(shared.query_full[stage], ring.parity);
    const Scores scores(a, shared, stage, shared.walk.first_key + 64 * kHalf);
    // The same barrier again: the compiler moves no draws over a loop, and so none among the products.
    if (Scores::draws(a)) barrier_wait(shared.query_full[stage], ring.parity);
    multiply_scores<T, kHeadDim, kHeadDim>(s, shared.k + kRowsBefore, shared.q[stage]);
    multiply_scores<T, kHeadDim, kHeadDim>(dp, shared.v + kRowsBefore, shared.d_o[stage]);

    // P in the place of S
    float2 rows[kM / 8];
    if (kReadsAhead) read_rows<kM>(rows, shared.lse_log2[stage], lane());
    const int first_query = shared.first_query[stage];
    const bool hides = hides_some<M>(shared, first_query);
    products_wait<1>();
    products_finished(s);
    if (!kReadsAhead) read_rows<kM>(rows, shared.lse_log2[stage], lane());
    scores.exponentiate(a, s, rows);
    if (hides) hide_unseen<M>(s, shared, 64 * kHalf, first_query, lane(), scores.hidden(a));

    // dS of dP
    if (kReadsAhead) read_rows<kM>(rows, shared.d[stage], lane());
    products_wait<0>();
    products_finished(dp);
    if (!kReadsAhead) read_rows<kM>(rows, shared.d[stage], lane());
    std::uint32_t p[kM / 16][4];
    std::uint32_t ds[kM / 16][4];
    scores.differentiate(a, s, dp, shared.lse_log2[stage] + 2 * (lane() % 4), rows, p, ds);
    multiply_rows<T, kHeadDim>(dv, p, shared.d_o[stage], t > 0);

    barrier_wait(shared.ds_empty[ds_out.stage], ds_out.parity ^ 1);
    const std::uint32_t to = shared_address(shared.ds[ds_out.stage] + kRowsBefore) + matrix_row;
    FMHA_BWD_UNROLL
    for (int i = 0; i < kM / 16; ++i) store_columns(to, i, Tile::kDsPanelBytes, ds[i]);
    multiply_rows<T, kHeadDim>(dk, ds, shared.q[stage], t > 0);
    fence_async_proxy();
    __syncwarp();
    if (lane() == 0) barrier_arrive(shared.ds_full[ds_out.stage]);
    __syncwarp();
    ds_out.advance();

    // dQ of two tiles before. In the first two tiles a product of whatever stands in K's place, and in V's
    // after it, is made and thrown away, so that no branch parts the products in flight; its address is
    // formed, not used.
    if (t > 1) barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
    float dq[32];
    multiply_dq<T, kHeadDim, kHalf>(dq, t > 1 ? shared.ds[ds_in.stage] : shared.k, shared.k);
    if (kHalf == 0 && t == 0) named_barrier_arrive<2 * kWarpgroup, 1>();
    float* const dq_sums = dq_of_visit(t + 6);  // visit t - 2, in a ring of 8
    products_wait<0>();
    products_finished(dq);
    if (lane() == 0) barrier_arrive(shared.query_empty[stage]);
    if (t > 1) {
      if (lane() == 0) barrier_arrive(shared.ds_empty[ds_in.stage]);
      ds_in.advance();
      Turns<kOrdered>::take(shared, t - 2);
      add_sums(dq_sums, dq);
      Turns<kOrdered>::give(shared, t - 2);
    }
    __syncwarp();
    ring.advance();
  } while (++t < tiles);
  products_finished(dv);
  products_finished(dk);

  for (t = tiles < 2 ? 0 : tiles - 2; t < tiles; ++t) {
    float dq[32];
    barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
    multiply_dq<T, kHeadDim, kHalf>(dq, shared.ds[ds_in.stage], shared.k);
    products_wait<0>();
    products_finished(dq);
    Turns<kOrdered>::take(shared, t);
    add_sums(dq_of_visit(t), dq);
    Turns<kOrdered>::give(shared, t);
    ds_in.advance();
  }

  if (shared.walk.shared >= 0 && !join_sums<kHeadDim, kHalf>(a, shared, dk, dv, thread())) return;
  // V's rows were this warpgroup's alone; Q's stages are free when both have come here.
  std::byte* const dv_out = shared.v + kRowsBefore;
  std::byte* const dk_out = shared.q[0] + kHalf * Tile::kQPanels * 64 * kPanelRowBytes;
  static_assert(2 * Tile::kQPanels * 64 * kPanelRowBytes <= sizeof(shared.q));
  const float dv_factor = Scores::dv_factor(a);
  tile_from_sums<T, kHeadDim>(dv_out, Tile::kKeyPanelBytes, dv, dv_factor, dv_factor, matrix_row);
  named_barrier<2 * kWarpgroup, 1>();
  tile_from_sums<T, kHeadDim>(dk_out, 64 * kPanelRowBytes, dk, a.scale, a.scale, matrix_row);
  named_barrier<kWarpgroup, 2 + kHalf>();
  if (thread() == 0) {
    const Walk walk = shared.walk;
    for (int p = 0; p < Tile::kQPanels; ++p) {
      store_tile(a.dv, p * kPanelColumns, walk.first_key + kHalf * 64, walk.head_k, walk.keys,
                 dv_out + p * Tile::kKeyPanelBytes);
      store_tile(a.dk, p * kPanelColumns, walk.first_key + kHalf * 64, walk.head_k, walk.keys,
                 dk_out + p * 64 * kPanelRowBytes);
    }
    store_commit_and_wait_for_reads();
  }
}

/// dK = dV = 0 for keys that no query sees.
template <int kHeadDim>
__device__ __forceinline__ void store_zeros(const DqDkDvArguments<kHeadDim>& a,
                                            SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  for (int i = static_cast<int>(threadIdx.x); i < 64 * kPanelRowBytes / 16;
       i += static_cast<int>(blockDim.x)) {
    reinterpret_cast<uint4*>(shared.v)[i] = uint4{};
  }
  fence_async_proxy();
  __syncthreads();
  if (threadIdx.x != 0) return;
  const Walk walk = shared.walk;
  for (int row = 0; row < Tile::kN; row += 64) {
    for (int p = 0; p < Tile::kQPanels; ++p) {
      store_tile(a.dk, p * kPanelColumns, walk.first_key + row, walk.head_k, walk.keys, shared.v);
    }
    for (int p = 0; p < Tile::kVPanels; ++p) {
      store_tile(a.dv, p * kPanelColumns, walk.first_key + row, walk.head_k, walk.keys, shared.v);
    }
  }
  store_commit_and_wait_for_reads();
}

/// M: Staircase, or Mask for the masks that are none; kOrdered: whether dQ's additions are, see turns.h;
/// kFeatures: what happens to the scores, see featured_scores.h.
template <class T, int kHeadDim, class M, bool kOrdered, unsigned kFeatures>
__global__ __launch_bounds__(3 * kWarpgroup,
                             1) void dq_dk_dv_kernel(const __grid_constant__
                                                     typename ScoresOf<T, kHeadDim, kFeatures>::Arguments a) {
  follow_launch_before();
  using Scores = ScoresOf<T, kHeadDim, kFeatures>;
  using Tile = Tiling<kHeadDim>;
  extern __shared__ __align__(1024) std::byte raw[];
  auto& shared = *reinterpret_cast<SharedMemory<kHeadDim>*>(raw);
  Walk walk;
  if (threadIdx.x < 32) walk = walk_of_block<M, kOrdered>(a);
  if (threadIdx.x == 0) {
    shared.walk = walk;
    barrier_init(shared.k_full, 1);
    barrier_init(shared.v_full, 1);
    for (int s = 0; s < Tile::kStages; ++s) {
      barrier_init(shared.query_full[s], 1);
      barrier_init(shared.query_empty[s], 8);  // a lane of each multiplying warp
    }
    for (int s = 0; s < Tile::kDsStages; ++s) {
      barrier_init(shared.ds_full[s], Tile::kWide ? 4 : 8);
      barrier_init(shared.ds_empty[s], 8);
    }
    if (kOrdered) init_turns(shared);
    fence_barrier_init();
    if (walk.tiles > 0) load_first_tiles<Scores::kNeedsHead, kHeadDim>(a, shared, walk);
  }
  __syncthreads();
  if (threadIdx.x < Tile::kN) {
    const int key = shared.walk.first_key + static_cast<int>(threadIdx.x);
    const M mask = mask_of<M>(a, shared.walk);
    const Range queries = key < shared.walk.seqlen_k ? mask.visible_queries(key) : Range{kNobody, 0};
    const auto first = static_cast<int>(queries.begin);
    const auto end = static_cast<int>(queries.end);
    shared.first_seen_by[threadIdx.x] = first;
    if (!std::is_same_v<M, Staircase>) shared.end_seen_by[threadIdx.x] = end;
    // The later a key, the later it is seen, and the later no more.
    if (threadIdx.x == Tile::kN - 1) shared.all_seen_by = first;
    if (threadIdx.x == 0) shared.end_all_seen_by = end;
  }
  __syncthreads();
  if (shared.walk.tiles == 0) {
    if (shared.walk.parts == 0) store_zeros<kHeadDim>(a, shared);
    return;
  }

  const int warpgroup = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (warpgroup == 0) {
    give_registers<24>();
    if (threadIdx.x == 0) load_tiles<Scores::kNeedsHead, kHeadDim>(a, shared);
    if (kOrdered && threadIdx.x == 32) await_turns<kHeadDim>(a, shared);
    if (kOrdered && threadIdx.x == 64) pass_turns<kHeadDim>(a, shared, 0);
    if (kOrdered && threadIdx.x == 96) pass_turns<kHeadDim>(a, shared, 1);
  } else if (warpgroup == 1) {
    take_registers<240>();
    if constexpr (Tile::kWide)
      differentiate_values<T, kHeadDim, M, kOrdered>(a, shared);
    else
      differentiate<T, kHeadDim, M, kOrdered, Scores, 0>(a, shared);
  } else {
    take_registers<240>();
    if constexpr (Tile::kWide)
      differentiate_keys<T, kHeadDim, kOrdered>(a, shared);
    else
      differentiate<T, kHeadDim, M, kOrdered, Scores, 1>(a, shared);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
