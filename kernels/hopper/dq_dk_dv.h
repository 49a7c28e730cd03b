// Backward stage 2 on Hopper's tensor cores: dQ, dK and dV in one pass over the scores.
//
//   S = scale Q K^T,  P = exp(S - LSE),  dP = dO V^T,  dS = P (dP - D)
//   dV = P^T dO,  dK = scale dS^T Q,  dQ += dS K     (stage 3 scales dQ)
//
// for plain scores; scores.h has P and dS of the others.
//
// Tiling: a block owns kN = 128 keys of one key head (or shares them, share_out.h) and walks over the tiles
// of queries that see any of them, for every query head of the group. One thread loads by the copy engine.
// Two warpgroups multiply, 64 keys each; for a tile of kM queries a warpgroup does
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

#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/scores.h"
#include "kernels/hopper/tile_out.h"
#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The warpgroup's part of the tile's left operand times the whole right one, both with k along the columns:
/// S^T of K and Q, dP^T of V and dO. Commits.
template <class T, int kHeadDim>
__device__ __forceinline__ void multiply_scores(float (&scores)[Tiling<kHeadDim>::kM / 2],
                                                const std::byte* keys, const std::byte* queries) {
  using Tile = Tiling<kHeadDim>;
  const std::uint64_t left = descriptor(keys);
  const std::uint64_t right = descriptor(queries);
  products_begin();
  FMHA_BWD_UNROLL
  for (int i = 0; i < kHeadDim / 16; ++i) {
    const std::uint64_t a = moved(left, i / 4 * Tile::kKeyPanelBytes + i % 4 * 32);
    const std::uint64_t b = moved(right, i / 4 * Tile::kQueryPanelBytes + i % 4 * 32);
    if (i == 0)
      multiply<T, Tile::kM, true, false, false>(scores, a, b);
    else
      multiply<T, Tile::kM, false, false, false>(scores, a, b);
  }
  products_commit();
}

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

/// Adds a thread's sums to [kCount / 4][128 threads][4] floats; `to` is the thread's place in the first of
/// them.
template <int kCount>
__device__ __forceinline__ void add_sums(float* to, const float (&sums)[kCount]) {
  FMHA_BWD_UNROLL
  for (int c = 0; c < kCount / 4; ++c) {
    add_to_global(to + c * 4 * kWarpgroup, sums[4 * c], sums[4 * c + 1], sums[4 * c + 2], sums[4 * c + 3]);
  }
}

/// What a thread reads of LSE or D: those of the queries that are its columns of the scores.
template <int kM>
__device__ __forceinline__ void read_rows(float2 (&to)[kM / 8], const float* rows, int lane) {
  FMHA_BWD_UNROLL
  for (int j = 0; j < kM / 8; ++j) to[j] = *reinterpret_cast<const float2*>(rows + 2 * (lane % 4) + 8 * j);
}

/// dK / scale and dV of a shared tile of keys: adds this block's sums to the others'. True in the last block
/// to come, which then holds the whole sums.
template <int kHeadDim, int kHalf>
__device__ __forceinline__ bool join_sums(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared,
                                          float (&dk)[kHeadDim / 2], float (&dv)[kHeadDim / 2], int thread) {
  constexpr int kHalfElements = Tiling<kHeadDim>::kKeyTileElements / 2;
  const int index = shared.walk.shared;
  float* const dk_sums = a.sums + (static_cast<std::int64_t>(index) * 4 + kHalf) * kHalfElements + 4 * thread;
  float* const dv_sums = dk_sums + 2 * kHalfElements;
  add_sums(dk_sums, dk);
  add_sums(dv_sums, dv);
  __threadfence();
  named_barrier<2 * kWarpgroup, 1>();
  if (kHalf == 0 && thread == 0) {
    __threadfence();
    shared.is_last = atomicAdd(a.arrivals + index, 1U) + 1 == static_cast<unsigned>(shared.walk.parts);
  }
  named_barrier<2 * kWarpgroup, 1>();
  if (!shared.is_last) return false;
  __threadfence();
  FMHA_BWD_UNROLL
  for (int c = 0; c < kHeadDim / 8; ++c) {
    const float4 k = __ldcg(reinterpret_cast<const float4*>(dk_sums) + c * kWarpgroup);
    const float4 v = __ldcg(reinterpret_cast<const float4*>(dv_sums) + c * kWarpgroup);
    dk[4 * c] = k.x, dk[4 * c + 1] = k.y, dk[4 * c + 2] = k.z, dk[4 * c + 3] = k.w;
    dv[4 * c] = v.x, dv[4 * c + 1] = v.y, dv[4 * c + 2] = v.z, dv[4 * c + 3] = v.w;
  }
  return true;
}

/// One warpgroup's part in stage 2: S, dP, dV and dK of keys 64 kHalf to 64 kHalf + 63 of the tile, and its
/// half of dQ.
template <class T, int kHeadDim, class Scores, int kHalf>
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
    multiply_scores<T, kHeadDim>(s, shared.k + kRowsBefore, shared.q[stage]);
    multiply_scores<T, kHeadDim>(dp, shared.v + kRowsBefore, shared.d_o[stage]);

    // P in the place of S
    float2 rows[kM / 8];
    if (kReadsAhead) read_rows<kM>(rows, shared.lse_log2[stage], lane());
    const int first_query = shared.first_query[stage];
    const bool hides = first_query < shared.all_seen_by;
    products_wait<1>();
    products_finished(s);
    if (!kReadsAhead) read_rows<kM>(rows, shared.lse_log2[stage], lane());
    scores.exponentiate(a, s, rows);
    if (hides) {
      const int row = thread_of_warpgroup();
      const int* const first_seen_by = shared.first_seen_by + 64 * kHalf + row / 32 * 16 + row % 32 / 4;
      const int from0 = first_seen_by[0] - first_query - 2 * (lane() % 4);
      const int from8 = first_seen_by[8] - first_query - 2 * (lane() % 4);
      FMHA_BWD_UNROLL
      for (int j = 0; j < kM / 8; ++j) {
        if (8 * j < from0) s[4 * j] = scores.hidden(a);
        if (8 * j + 1 < from0) s[4 * j + 1] = scores.hidden(a);
        if (8 * j < from8) s[4 * j + 2] = scores.hidden(a);
        if (8 * j + 1 < from8) s[4 * j + 3] = scores.hidden(a);
      }
    }

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
      add_sums(dq_sums, dq);
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
    add_sums(dq_of_visit(t), dq);
    ds_in.advance();
  }

  if (shared.walk.shared >= 0 && !join_sums<kHeadDim, kHalf>(a, shared, dk, dv, thread())) return;
  // V's rows were this warpgroup's alone; Q's stages are free when both have come here.
  std::byte* const dv_out = shared.v + kRowsBefore;
  std::byte* const dk_out = shared.q[0] + kHalf * Tile::kPanels * 64 * kPanelRowBytes;
  static_assert(2 * Tile::kPanels * 64 * kPanelRowBytes <= sizeof(shared.q));
  const float dv_factor = Scores::dv_factor(a);
  tile_from_sums<T, kHeadDim>(dv_out, Tile::kKeyPanelBytes, dv, dv_factor, dv_factor, matrix_row);
  named_barrier<2 * kWarpgroup, 1>();
  tile_from_sums<T, kHeadDim>(dk_out, 64 * kPanelRowBytes, dk, a.scale, a.scale, matrix_row);
  named_barrier<kWarpgroup, 2 + kHalf>();
  if (thread() == 0) {
    const Walk& walk = shared.walk;
    for (int p = 0; p < Tile::kPanels; ++p) {
      store_tile(a.dv, p * kPanelColumns, walk.first_key + kHalf * 64, walk.head_k, walk.batch,
                 dv_out + p * Tile::kKeyPanelBytes);
      store_tile(a.dk, p * kPanelColumns, walk.first_key + kHalf * 64, walk.head_k, walk.batch,
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
  const Walk& walk = shared.walk;
  for (int row = 0; row < Tile::kN; row += 64) {
    for (int p = 0; p < Tile::kPanels; ++p) {
      store_tile(a.dk, p * kPanelColumns, walk.first_key + row, walk.head_k, walk.batch, shared.v);
      store_tile(a.dv, p * kPanelColumns, walk.first_key + row, walk.head_k, walk.batch, shared.v);
    }
  }
  store_commit_and_wait_for_reads();
}

template <class T, int kHeadDim, unsigned kFeatures>
__global__ __launch_bounds__(3 * kWarpgroup,
                             1) void dq_dk_dv_kernel(const __grid_constant__
                                                     typename ScoresOf<T, kHeadDim, kFeatures>::Arguments a) {
  using Scores = ScoresOf<T, kHeadDim, kFeatures>;
  using Tile = Tiling<kHeadDim>;
  extern __shared__ __align__(1024) std::byte raw[];
  auto& shared = *reinterpret_cast<SharedMemory<kHeadDim>*>(raw);
  if (threadIdx.x == 0) {
    shared.walk = walk_of_block<kHeadDim>(a);
    barrier_init(shared.k_full, 1);
    barrier_init(shared.v_full, 1);
    for (int s = 0; s < Tile::kStages; ++s) {
      barrier_init(shared.query_full[s], 1);
      barrier_init(shared.query_empty[s], 8);  // a lane of each multiplying warp
    }
    for (int s = 0; s < Tile::kDsStages; ++s) {
      barrier_init(shared.ds_full[s], 8);
      barrier_init(shared.ds_empty[s], 8);
    }
    fence_barrier_init();
    if (shared.walk.tiles > 0) load_first_tiles<Scores::kNeedsHead, kHeadDim>(a, shared);
  }
  __syncthreads();
  if (threadIdx.x < Tile::kN) {
    const int key = shared.walk.first_key + static_cast<int>(threadIdx.x);
    const bool exists = key < a.mask.seqlen_k();
    const int first = exists ? static_cast<int>(a.mask.visible_queries(key).begin) : kNobody;
    shared.first_seen_by[threadIdx.x] = first;
    if (threadIdx.x == Tile::kN - 1) shared.all_seen_by = first;  // the later a key, the later it is seen
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
  } else if (warpgroup == 1) {
    take_registers<240>();
    differentiate<T, kHeadDim, Scores, 0>(a, shared);
  } else {
    take_registers<240>();
    differentiate<T, kHeadDim, Scores, 1>(a, shared);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
