// Stage 2 (dq_dk_dv.h) where a head dimension is above 128: what its multiplying warpgroups do.
//
// Tiling: kN = 64 keys a block and kM = 64 queries a tile, so that dK and dV, 64 rows of up to 256 columns in
// fp32, fit in the registers of a warpgroup each. The first makes dV, the second dK, and for a tile
//   first:  S^T = K Q^T;  P of S in place, in fp32 to shared memory;  dV += P^T dO
//   second: dP^T = V dO^T;  dS of dP and that P;  dK += dS^T Q;  dS^T, in 16 bits, to shared memory
// and each its half of the columns of dQ = dS K, of the tile before, added to the accumulator from registers
// while the next tile's S or dP is multiplied.
//
// Why it is fast: P and dS are left operands in the registers that they were computed in, and each of S and
// dP is one product whose operands are read once; only P and dS cross, P at once and dS a tile late. The two
// have the same number of products to do, and the first runs about half a tile ahead, so that one multiplies
// during the other's exponentials or differences.
//
// At hdims 192 and 128 K has two places, and a walk's last dQ is made in the next walk (load.h).
//
// Budget at hdim 256: 128 sums of dV or dK, 32 of S or dP, or 64 of dQ in their place, of 240 registers a
// thread; 227 KB of shared memory; one block an SM.
//
// Bound at hdim 256, for a tile: tensor cores 2560 clocks; shared memory 2880 (operands 2048, P 256, dS 64,
// loads 512); the additions to dQ, 64 KB, twice what they are at hdim 128 for the same work, some 4400.
#pragma once

#include <hip/hip_runtime.h>

#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/scores.h"
#include "kernels/hopper/seen.h"
#include "kernels/hopper/sums.h"
#include "kernels/hopper/tile_out.h"
#include "kernels/hopper/turns.h"
#include "kernels/hopper/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Barriers between the multiplying warpgroups, besides those of dq_dk_dv.h.
inline constexpr int kPWritten = 4;
inline constexpr int kPRead = 5;

/// Half of dQ's columns is made in two parts: 64 columns, and 64 more at hdim 256, 32 at 192 (tiling.h's
/// column_of_half).
template <int kHdimQ, int kPart>
inline constexpr int kDqColumns = kHdimQ == 192 && kPart == 1 ? 32 : 64;

/// dQ = dS K in a part of half kHalf. Commits.
template <class T, int kHeadDim, int kHalf, int kPart>
__device__ __forceinline__ void multiply_dq_part(float (&dq)[kDqColumns<Tiling<kHeadDim>::kHdimQ, kPart> / 2],
                                                 const std::byte* ds, const std::byte* k) {
  using Tile = Tiling<kHeadDim>;
  constexpr int kColumns = kDqColumns<Tile::kHdimQ, kPart>;
  constexpr int kColumn = column_of_half<kHeadDim>(kHalf, 64 * kPart);
  const std::uint64_t left = descriptor(ds);
  const std::uint64_t right =
      descriptor(k + kColumn / kPanelColumns * Tile::kKeyPanelBytes + kColumn % kPanelColumns * 2);
  products_begin();
  FMHA_BWD_UNROLL
  for (int i = 0; i < Tile::kN / 16; ++i) {
    const std::uint64_t a = moved(left, i * 16 * kPanelRowBytes);
    const std::uint64_t b = moved(right, i * 16 * kPanelRowBytes);
    if (i == 0)
      multiply<T, kColumns, true, true, true>(dq, a, b);
    else
      multiply<T, kColumns, false, true, true>(dq, a, b);
  }
  products_commit();
}

/// sums += weights^T rows, panel by panel: dV of P and dO, dK of dS and Q. Replaces the sums where `adds` is
/// false. Commits.
template <class T, int kHeadDim, int kPanels>
__device__ __forceinline__ void multiply_panels(float (&sums)[kPanels][32],
                                                const std::uint32_t (&weights)[4][4], const std::byte* rows,
                                                bool adds) {
  using Tile = Tiling<kHeadDim>;
  static_assert(Tile::kM == 64);
  const std::uint64_t right = descriptor(rows);
  products_begin();
  FMHA_BWD_UNROLL
  for (int i = 0; i < 4; ++i) {
    FMHA_BWD_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      multiply<T, 64, true>(sums[p], weights[i],
                            moved(right, p * Tile::kQueryPanelBytes + i * 16 * kPanelRowBytes),
                            adds || i > 0);
    }
  }
  products_commit();
}

/// Sums of 64 queries, packed: the left operand of their products.
template <class T>
__device__ __forceinline__ void pack_scores(std::uint32_t (&words)[4][4], const float (&scores)[32]) {
  FMHA_BWD_UNROLL
  for (int i = 0; i < 16; ++i) words[i / 4][i % 4] = pack<T>(scores[2 * i], scores[2 * i + 1]);
}

/// Adds a warpgroup's half of dQ of the last visit, for which nothing has come after; K in `k_stage` is free
/// then.
template <class T, int kHeadDim, bool kHasTurns, int kHalf>
__device__ __forceinline__ void add_last_dq_in_parts(const DqDkDvArguments<kHeadDim>& a,
                                                     SharedMemory<kHeadDim>& shared, int k_stage,
                                                     Progress<kHeadDim>& progress) {
  auto& [visits, ring, ds_out, ds_in] = progress;
  constexpr int kHdimQ = Tiling<kHeadDim>::kHdimQ;
  float dq[kDqColumns<kHdimQ, 0> / 2];
  float more_dq[kDqColumns<kHdimQ, 1> / 2];
  barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
  multiply_dq_part<T, kHeadDim, kHalf, 0>(dq, shared.ds[ds_in.stage], shared.k[k_stage]);
  multiply_dq_part<T, kHeadDim, kHalf, 1>(more_dq, shared.ds[ds_in.stage], shared.k[k_stage]);
  products_wait<0>();
  products_finished(dq);
  products_finished(more_dq);
  __syncwarp();
  if (arrives(thread_of_warpgroup() % 32)) {
    barrier_arrive(shared.ds_empty[ds_in.stage]);
    barrier_arrive(shared.k_empty[k_stage]);
  }
  ds_in.advance();
  float* const dq_sums = dq_of_visit<kHalf>(a, shared, visits - 1);
  take_turn<kHasTurns>(shared, visits - 1);
  add_sums(dq_sums, dq);
  add_sums(dq_sums + 32 * kWarpgroup, more_dq);
  give_turn<kHasTurns>(shared, visits - 1);
}

/// The sums of dK or dV, which are `before` floats into those of a tile of keys, to their rows; of a shared
/// tile only in the last walk to come.
template <class T, int kHalf, int kHeadDim, int kPanels>
__device__ __forceinline__ void store_key_sums(const DqDkDvArguments<kHeadDim>& a,
                                               SharedMemory<kHeadDim>& shared, const Walk& walk,
                                               float (&sums)[kPanels][32], int before, float factor,
                                               const RowsOut& rows) {
  if (walk.shared >= 0) {
    float* const all = a.sums + static_cast<std::int64_t>(walk.shared) * Tiling<kHeadDim>::kKeyTileElements +
                       before + 4 * thread_of_warpgroup();
    FMHA_BWD_UNROLL
    for (int p = 0; p < kPanels; ++p) add_sums(all + p * 32 * kWarpgroup, sums[p]);
    if (!is_last_to_add<kHalf>(a, shared, walk)) return;
    FMHA_BWD_UNROLL
    for (int p = 0; p < kPanels; ++p) read_sums(sums[p], all + p * 32 * kWarpgroup);
  }
  FMHA_BWD_UNROLL
  for (int p = 0; p < kPanels; ++p) store_rows<T, 64>(rows, p * kPanelColumns, sums[p], factor);
}

/// The first warpgroup's part in a walk whose K is in `k_stage`, of the walk before in `k_before`: S, P, dV
/// and the first half of dQ, but for the last visit's where K has two places; under a mask of type M.
template <class T, int kHeadDim, class M, bool kHasTurns>
__device__ __forceinline__ void differentiate_values(const DqDkDvArguments<kHeadDim>& a,
                                                     SharedMemory<kHeadDim>& shared, const Walk& walk,
                                                     int k_stage, int k_before,
                                                     Progress<kHeadDim>& progress) {
  using Tile = Tiling<kHeadDim>;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int lane = thread % 32;
  const int tiles = walk.tiles;
  float dv[Tile::kVPanels][32];
  auto& [visits, ring, ds_out, ds_in] = progress;

  float s[32];
  float2 lse[8];
  barrier_wait(shared.query_full[ring.stage], ring.parity);
  multiply_scores<T, kHeadDim, Tile::kHdimQ>(s, descriptor(shared.k[k_stage]),
                                             descriptor(shared.q[ring.stage]));
  read_rows<64>(lse, shared.lse_log2[ring.stage], lane);
  products_wait<0>();
  products_finished(s);

  int t = 0;
  do {
    const int stage = ring.stage;
    const int first_query = shared.first_query[stage];
    const bool hides = hides_some<M, 0, kHeadDim>(walk, first_query);
    // P in the place of S
    exponentiate<64>(s, lse, a.scale_log2);
    if (hides) hide_unseen<M, 0>(a, walk, s, first_query);
    if (visits > 0) named_barrier<2 * kWarpgroup, kPRead>();
    FMHA_BWD_UNROLL
    for (int j = 0; j < 8; ++j) {
      *reinterpret_cast<float4*>(shared.p[j][thread]) =
          make_float4(s[4 * j], s[4 * j + 1], s[4 * j + 2], s[4 * j + 3]);
    }
    named_barrier_arrive<2 * kWarpgroup, kPWritten>();
    std::uint32_t p[4][4];
    pack_scores<T>(p, s);
    multiply_panels<T, kHeadDim>(dv, p, shared.d_o[stage], t > 0);

    // dQ of the visit before. Where there is none a product of what stands in K's place is made and thrown
    // away, so that no branch parts the products in flight; its address is formed, not used. So is a last S.
    ds_out.advance();
    const int k_behind = t > 0 ? k_stage : k_before;
    const bool is_any = ds_in.stage == ds_out.stage;
    if (is_any) barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
    const std::byte* const ds_before = is_any ? shared.ds[ds_in.stage] : shared.k[0];
    float dq[kDqColumns<Tile::kHdimQ, 0> / 2];
    float more_dq[kDqColumns<Tile::kHdimQ, 1> / 2];
    multiply_dq_part<T, kHeadDim, 0, 0>(dq, ds_before, shared.k[k_behind]);
    multiply_dq_part<T, kHeadDim, 0, 1>(more_dq, ds_before, shared.k[k_behind]);
    float* const dq_sums = dq_of_visit<0>(a, shared, visits - 1);
    products_wait<2>();
    if (arrives(lane)) barrier_arrive(shared.query_empty[stage]);
    ring.advance();
    products_wait<1>();
    products_finished(dq);
    if (is_any) {
      take_turn<kHasTurns>(shared, visits - 1);
      add_sums(dq_sums, dq);
    }
    const bool goes_on = t + 1 < tiles;
    if (goes_on) barrier_wait(shared.query_full[ring.stage], ring.parity);
    multiply_scores<T, kHeadDim, Tile::kHdimQ>(s, descriptor(shared.k[k_stage]),
                                               descriptor(goes_on ? shared.q[ring.stage] : shared.k[0]));
    products_wait<1>();
    products_finished(more_dq);
    if (is_any) {
      if (arrives(lane)) barrier_arrive(shared.ds_empty[ds_in.stage]);
      if (k_behind != k_stage && arrives(lane)) barrier_arrive(shared.k_empty[k_behind]);
      ds_in.advance();
      add_sums(dq_sums + 32 * kWarpgroup, more_dq);
      give_turn<kHasTurns>(shared, visits - 1);
    }
    __syncwarp();
    if (goes_on) read_rows<64>(lse, shared.lse_log2[ring.stage], lane);
    products_wait<0>();
    products_finished(s);
    ++visits;
  } while (++t < tiles);
  FMHA_BWD_UNROLL
  for (int p = 0; p < Tile::kVPanels; ++p) products_finished(dv[p]);

  if (Tile::kKeyStages == 1) add_last_dq_in_parts<T, kHeadDim, kHasTurns, 0>(a, shared, 0, progress);
  store_key_sums<T, 0>(a, shared, walk, dv, Tile::kN * Tile::kHdimQ, 1.0F, rows_of_dv<0>(a, walk));
}

/// The second warpgroup's part in it: dP, dS, dK and the second half of dQ.
template <class T, int kHeadDim, bool kHasTurns>
__device__ __forceinline__ void differentiate_keys(const DqDkDvArguments<kHeadDim>& a,
                                                   SharedMemory<kHeadDim>& shared, const Walk& walk,
                                                   int k_stage, int k_before, Progress<kHeadDim>& progress) {
  using Tile = Tiling<kHeadDim>;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int lane = thread % 32;
  const std::uint32_t matrix_row = matrix_offset(thread / 32, lane);
  const int tiles = walk.tiles;
  float dk[Tile::kQPanels][32];
  auto& [visits, ring, ds_out, ds_in] = progress;

  float dp[32];
  float2 d[8];
  barrier_wait(shared.query_full[ring.stage], ring.parity);
  multiply_scores<T, kHeadDim, Tile::kHdimV>(dp, descriptor(shared.v), descriptor(shared.d_o[ring.stage]));
  read_rows<64>(d, shared.d[ring.stage], lane);
  products_wait<0>();
  products_finished(dp);

  int t = 0;
  do {
    const int stage = ring.stage;
    // dS in the place of dP
    named_barrier<2 * kWarpgroup, kPWritten>();
    float p[32];
    FMHA_BWD_UNROLL
    for (int j = 0; j < 8; ++j) {
      const float4 quad = *reinterpret_cast<const float4*>(shared.p[j][thread]);
      p[4 * j] = quad.x, p[4 * j + 1] = quad.y, p[4 * j + 2] = quad.z, p[4 * j + 3] = quad.w;
    }
    FMHA_BWD_UNROLL
    for (int j = 0; j < 8; ++j) {
      dp[4 * j] = p[4 * j] * (dp[4 * j] - d[j].x);
      dp[4 * j + 1] = p[4 * j + 1] * (dp[4 * j + 1] - d[j].y);
      dp[4 * j + 2] = p[4 * j + 2] * (dp[4 * j + 2] - d[j].x);
      dp[4 * j + 3] = p[4 * j + 3] * (dp[4 * j + 3] - d[j].y);
    }
    named_barrier_arrive<2 * kWarpgroup, kPRead>();
    if (t + 1 == tiles && arrives(lane)) barrier_arrive(shared.v_empty[0]);
    std::uint32_t ds[4][4];
    pack_scores<T>(ds, dp);
    barrier_wait(shared.ds_empty[ds_out.stage], ds_out.parity ^ 1);
    const std::uint32_t to = shared_address(shared.ds[ds_out.stage]) + matrix_row;
    FMHA_BWD_UNROLL
    for (int i = 0; i < 4; ++i) store_columns(to, i, Tile::kDsPanelBytes, ds[i]);
    multiply_panels<T, kHeadDim>(dk, ds, shared.q[stage], t > 0);
    fence_async_proxy();
    __syncwarp();
    if (arrives(lane)) barrier_arrive(shared.ds_full[ds_out.stage]);
    __syncwarp();
    ds_out.advance();

    // As in differentiate_values.
    const int k_behind = t > 0 ? k_stage : k_before;
    const bool is_any = ds_in.stage == ds_out.stage;
    if (is_any) barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
    const std::byte* const ds_before = is_any ? shared.ds[ds_in.stage] : shared.k[0];
    float dq[kDqColumns<Tile::kHdimQ, 0> / 2];
    float more_dq[kDqColumns<Tile::kHdimQ, 1> / 2];
    multiply_dq_part<T, kHeadDim, 1, 0>(dq, ds_before, shared.k[k_behind]);
    multiply_dq_part<T, kHeadDim, 1, 1>(more_dq, ds_before, shared.k[k_behind]);
    float* const dq_sums = dq_of_visit<1>(a, shared, visits - 1);
    products_wait<2>();
    if (arrives(lane)) barrier_arrive(shared.query_empty[stage]);
    ring.advance();
    products_wait<1>();
    products_finished(dq);
    if (is_any) {
      take_turn<kHasTurns>(shared, visits - 1);
      add_sums(dq_sums, dq);
    }
    const bool goes_on = t + 1 < tiles;
    if (goes_on) barrier_wait(shared.query_full[ring.stage], ring.parity);
    multiply_scores<T, kHeadDim, Tile::kHdimV>(dp, descriptor(goes_on ? shared.v : shared.k[0]),
                                               descriptor(goes_on ? shared.d_o[ring.stage] : shared.k[0]));
    products_wait<1>();
    products_finished(more_dq);
    if (is_any) {
      if (arrives(lane)) barrier_arrive(shared.ds_empty[ds_in.stage]);
      if (k_behind != k_stage && arrives(lane)) barrier_arrive(shared.k_empty[k_behind]);
      ds_in.advance();
      add_sums(dq_sums + 32 * kWarpgroup, more_dq);
      give_turn<kHasTurns>(shared, visits - 1);
    }
    __syncwarp();
    if (goes_on) read_rows<64>(d, shared.d[ring.stage], lane);
    products_wait<0>();
    products_finished(dp);
    ++visits;
  } while (++t < tiles);
  FMHA_BWD_UNROLL
  for (int p = 0; p < Tile::kQPanels; ++p) products_finished(dk[p]);

  if (Tile::kKeyStages == 1) add_last_dq_in_parts<T, kHeadDim, kHasTurns, 1>(a, shared, 0, progress);
  store_key_sums<T, 1>(a, shared, walk, dk, 0, a.scale, rows_of_dk<0>(a, walk));
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
