// Backward stage 2 on Hopper's tensor cores (draft head)
#pragma once

#include <hip/hip_runtime.h>

#include "base/mask.h"
#include "kernels/hopper/ptx/copy.h"
#include "kernels/hopper/ptx/elementwise.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/ptx/wgmma.h"
#include "kernels/hopper/tile_out.h"
#include "kernels/hopper/tiling.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

#ifndef HOP_ROTATE
#define HOP_ROTATE 0
#endif
#ifndef HOP_STAGGER
#define HOP_STAGGER 1
#endif
#ifndef HOP_TMA
#define HOP_TMA 0
#endif
#ifndef HOP_EARLY_DV
#define HOP_EARLY_DV 1
#endif
#ifndef HOP_KVREGS
#define HOP_KVREGS 208
#define HOP_DQREGS 88
#endif
#ifdef HOP_SPLIT_DQ
#define HOP_DQ_HALVES 2
#else
#define HOP_DQ_HALVES 1
#endif

template <int kHeadDim>
struct DqDkDvArguments {
  TensorMap q;             // [batch, nhead_q, seqlen_q, hdim], boxes of kM rows
  TensorMap k;             // [batch, nhead_k, seqlen_k, hdim], boxes of kN rows
  TensorMap v;             // [batch, nhead_k, seqlen_k, hdim], boxes of kN rows
  TensorMap d_o;           // [batch, nhead_q, seqlen_q, hdim], boxes of kM rows
  TensorMap dk;            // [batch, nhead_k, seqlen_k, hdim], boxes of 64 rows
  TensorMap dv;            // [batch, nhead_k, seqlen_k, hdim], boxes of 64 rows
  const float* lse_log2;   // [batch, nhead_q, tiles of queries, kM]
  const float* d;          // [batch, nhead_q, tiles of queries, kM]
  float* dq_acc;           // [batch, nhead_q, tiles of queries, kM * hdim], see dq_tile.h
  Mask mask;
  float scale;
  float scale_log2;  // scale * log2 e
  int key_tiles;
  int query_tiles;
  int nhead_k;
  int group_size;
};

template <int kHeadDim>
struct alignas(1024) SharedMemory {
  using Tile = Tiling<kHeadDim>;
  std::byte k[Tile::kKeyTileBytes];
  std::byte v[Tile::kKeyTileBytes];
  std::byte q[Tile::kStages][Tile::kQueryTileBytes];
  std::byte d_o[Tile::kStages][Tile::kQueryTileBytes];
  std::byte ds[Tile::kDsStages][Tile::kDsTileBytes];
#if HOP_TMA
  float dq[2][Tile::kTileElements / 2];  // of a warpgroup, on its way out
#endif
  float lse_log2[Tile::kStages][Tile::kM];
  float d[Tile::kStages][Tile::kM];
  int first_query[Tile::kStages];  // of the tiles in flight
  int tile_index[Tile::kStages];   // of the tiles in flight, among the tiles of queries of all heads
  int first_seen_by[Tile::kN];     // the first query that sees each key; kNobody where there is none
  int all_seen_by;                 // from this query on every key of the tile is seen; kNobody where there is none
  int head_k;
  int batch;
  int tiles;       // to walk over: those of queries that see a key of this tile, for every head of the group
  int first_tile;  // of a head
  int end_tile;    // of a head
  int start_tile;  // the first to visit of each head
  int next_tile;   // to load
  int next_head;   // to load
#ifdef HOP_TRACE
  unsigned trace[2][8][16];
#endif
  Barrier k_full;
  Barrier v_full;
  Barrier q_full[Tile::kStages];
  Barrier d_o_full[Tile::kStages];
  Barrier query_empty[Tile::kStages];
  Barrier ds_full[Tile::kDsStages];
  Barrier dq_free[2];
  Barrier ds_empty[Tile::kDsStages];
};

inline constexpr int kNobody = 0x7fffffff;

/// Loads the next tile of Q with LSE, and of dO with D, into `stage`, which is free; one thread does it.
template <int kHeadDim>
__device__ __forceinline__ void load_next_tile(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared,
                                               int stage) {
  using Tile = Tiling<kHeadDim>;
  constexpr unsigned kRowBytes = Tile::kM * sizeof(float);
  const int head = shared.next_head;
  const int tile = shared.next_tile;
  const int batch = shared.batch;
  const int row = tile * Tile::kM;
  const int index = (batch * (a.nhead_k * a.group_size) + head) * a.query_tiles + tile;
  shared.first_query[stage] = row;
  shared.tile_index[stage] = index;
  shared.next_tile = tile + 1 == shared.end_tile ? shared.first_tile : tile + 1;
  if (shared.next_tile == shared.start_tile) shared.next_head = head + 1;
  barrier_arrive_expecting(shared.q_full[stage], Tile::kQueryTileBytes + kRowBytes);
  FMHA_BWD_UNROLL
  for (int p = 0; p < Tile::kPanels; ++p) {
    load_tile(shared.q[stage] + p * Tile::kQueryPanelBytes, a.q, p * kPanelColumns, row, head, batch,
              shared.q_full[stage]);
  }
  load_bytes(shared.lse_log2[stage], a.lse_log2 + static_cast<std::int64_t>(index) * Tile::kM, kRowBytes,
             shared.q_full[stage]);
  barrier_arrive_expecting(shared.d_o_full[stage], Tile::kQueryTileBytes + kRowBytes);
  FMHA_BWD_UNROLL
  for (int p = 0; p < Tile::kPanels; ++p) {
    load_tile(shared.d_o[stage] + p * Tile::kQueryPanelBytes, a.d_o, p * kPanelColumns, row, head, batch,
              shared.d_o_full[stage]);
  }
  load_bytes(shared.d[stage], a.d + static_cast<std::int64_t>(index) * Tile::kM, kRowBytes, shared.d_o_full[stage]);
}

#ifdef HOP_TRACE
__device__ unsigned trace_out[2][8][16];
#define TRACE(n) do { if (thread == 0 && t >= 20 && t < 28) shared.trace[kHalf][t - 20][n] = clock(); } while (0)
#else
#define TRACE(n)
#endif

/// The loading warp: K and V once, then a tile of Q and dO whenever a stage is free.
template <int kHeadDim>
__device__ __forceinline__ void load_tiles(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  const int first_key = static_cast<int>(blockIdx.x) % a.key_tiles * Tile::kN;
  const auto load_keys = [&](std::byte* to, const TensorMap& map, Barrier& barrier) {
    barrier_arrive_expecting(barrier, Tile::kKeyTileBytes);
    for (int p = 0; p < Tile::kPanels; ++p) {
      load_tile(to + p * Tile::kKeyPanelBytes, map, p * kPanelColumns, first_key, shared.head_k, shared.batch, barrier);
    }
  };
  load_keys(shared.k, a.k, shared.k_full);
  load_next_tile(a, shared, 0);
  load_keys(shared.v, a.v, shared.v_full);
  Ring<Tile::kStages> ring;
  for (int t = 1; t < shared.tiles; ++t) {
    ring.advance();
    barrier_wait(shared.query_empty[ring.stage], ring.parity ^ 1);
    load_next_tile(a, shared, ring.stage);
  }
}

/// The products of one warpgroup: S, dP, dV and dK of keys 64 kHalf to 64 kHalf + 63 of the tile, and its half of dQ.
template <class T, int kHeadDim, int kHalf>
__device__ __forceinline__ void differentiate(const DqDkDvArguments<kHeadDim>& a, SharedMemory<kHeadDim>& shared) {
  using Tile = Tiling<kHeadDim>;
  constexpr int kM = Tile::kM;
  constexpr int kN = Tile::kN;
  constexpr int kSteps = kHeadDim / 16;  // of k in S and dP
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const std::uint32_t matrix_row = matrix_offset(warp, lane);
  const int tiles = shared.tiles;
  float dk[kHeadDim / 2];
  float dv[kHeadDim / 2];

  // dQ of an earlier tile: its half of the columns (hdim 128), or dQ^T of half of its queries (hdim 64).
  const auto issue_dq = [&](float(&dq)[32], int ds_stage) {
    const std::uint64_t ds =
        descriptor(shared.ds[ds_stage] + (kHeadDim == 128 ? 0 : kHalf * Tile::kDsPanelBytes), Tile::kDsPanelBytes);
    const std::uint64_t keys =
        descriptor(shared.k + (kHeadDim == 128 ? kHalf * Tile::kKeyPanelBytes : 0), Tile::kKeyPanelBytes);
    const std::uint64_t left = kHeadDim == 128 ? ds : keys;
    const std::uint64_t right = kHeadDim == 128 ? keys : ds;
    FMHA_BWD_UNROLL
    for (int i = 0; i < kN / 16; ++i) {
      if (i == 0)
        multiply<T, 64, true, true, true>(dq, left, right);
      else
        multiply<T, 64, false, true, true>(dq, moved(left, i * 2048), moved(right, i * 2048));
    }
    products_commit();
  };
  const auto store_dq = [&](const float(&dq)[32], [[maybe_unused]] int index) {
#if HOP_TMA
    float* const out = shared.dq[kHalf] + 4 * thread;
    FMHA_BWD_UNROLL
    for (int c = 0; c < 8; ++c) {
      *reinterpret_cast<float4*>(out + c * 4 * kWarpgroup) =
          float4{dq[4 * c], dq[4 * c + 1], dq[4 * c + 2], dq[4 * c + 3]};
    }
#else
    float* const to =
        a.dq_acc + static_cast<std::int64_t>(index) * Tile::kTileElements + kHalf * (Tile::kTileElements / 2);
    FMHA_BWD_UNROLL
    for (int c = 0; c < 8; ++c) {
      add_to_global(to + 4 * thread + c * 4 * kWarpgroup, dq[4 * c], dq[4 * c + 1], dq[4 * c + 2], dq[4 * c + 3]);
    }
#endif
  };
  const auto send_dq = [&]([[maybe_unused]] int index) {
#if HOP_TMA
    float* const to =
        a.dq_acc + static_cast<std::int64_t>(index) * Tile::kTileElements + kHalf * (Tile::kTileElements / 2);
    fence_async_proxy();
    if (warp != 0) {
      named_barrier_arrive<kWarpgroup, 2 + kHalf>();
    } else {
      named_barrier<kWarpgroup, 2 + kHalf>();
      if (lane == 0) {
        add_floats(to, shared.dq[kHalf], sizeof(shared.dq[kHalf]));
        store_commit();
      }
      __syncwarp();
    }
#endif
  };

  Ring<Tile::kStages> ring;
  Ring<Tile::kDsStages> ds_out;
  Ring<Tile::kDsStages> ds_in;
  int index_before = 0;
  int index_before_2 = 0;
  int index = 0;

  barrier_wait(shared.k_full, 0);
  barrier_wait(shared.v_full, 0);
#if HOP_STAGGER
  if (kHalf == 1) named_barrier<2 * kWarpgroup, 1>();
#endif
  int t = 0;
  do {
    const int stage = ring.stage;
    float s[kM / 2];
    float dp[kM / 2];
    TRACE(0);
    barrier_wait(shared.q_full[stage], ring.parity);
    {
      const std::uint64_t keys = descriptor(shared.k + kHalf * 64 * 128);
      const std::uint64_t q = descriptor(shared.q[stage]);
      products_begin();
      FMHA_BWD_UNROLL
      for (int i = 0; i < kSteps; ++i) {
        const std::uint64_t a_step = moved(keys, i / 4 * Tile::kKeyPanelBytes + i % 4 * 32);
        const std::uint64_t b_step = moved(q, i / 4 * Tile::kQueryPanelBytes + i % 4 * 32);
        if (i == 0)
          multiply<T, kM, true, false, false>(s, a_step, b_step);
        else
          multiply<T, kM, false, false, false>(s, a_step, b_step);
      }
      products_commit();
    }
    TRACE(1);
    TRACE(2);
    const int index_before_3 = index_before_2;
    index_before_2 = index_before;
    index_before = index;
    index = shared.tile_index[stage];
    barrier_wait(shared.d_o_full[stage], ring.parity);
    {
      const std::uint64_t values = descriptor(shared.v + kHalf * 64 * 128);
      const std::uint64_t d_o = descriptor(shared.d_o[stage]);
      products_begin();
      FMHA_BWD_UNROLL
      for (int i = 0; i < kSteps; ++i) {
        const std::uint64_t a_step = moved(values, i / 4 * Tile::kKeyPanelBytes + i % 4 * 32);
        const std::uint64_t b_step = moved(d_o, i / 4 * Tile::kQueryPanelBytes + i % 4 * 32);
        if (i == 0)
          multiply<T, kM, true, false, false>(dp, a_step, b_step);
        else
          multiply<T, kM, false, false, false>(dp, a_step, b_step);
      }
      products_commit();
    }
    if (t > 2) send_dq(index_before_3);
    TRACE(3);
    float2 row[kM / 8];
    FMHA_BWD_UNROLL
    for (int j = 0; j < kM / 8; ++j) {
      row[j] = *reinterpret_cast<const float2*>(shared.lse_log2[stage] + 2 * (lane % 4) + 8 * j);
    }
    const int first_query = shared.first_query[stage];
    const bool hides = first_query < shared.all_seen_by;
    products_wait<1>();
    products_finished(s);
    TRACE(4);

    // P of S in place, while dP is multiplied.
    FMHA_BWD_UNROLL
    for (int j = 0; j < kM / 8; ++j) {
      s[4 * j] = exp2_approximate(s[4 * j] * a.scale_log2 - row[j].x);
      s[4 * j + 1] = exp2_approximate(s[4 * j + 1] * a.scale_log2 - row[j].y);
      s[4 * j + 2] = exp2_approximate(s[4 * j + 2] * a.scale_log2 - row[j].x);
      s[4 * j + 3] = exp2_approximate(s[4 * j + 3] * a.scale_log2 - row[j].y);
    }
    if (hides) {
      const int* const first_seen_by = shared.first_seen_by + 64 * kHalf + 16 * warp + lane / 4;
      const int from0 = first_seen_by[0] - first_query - 2 * (lane % 4);
      const int from8 = first_seen_by[8] - first_query - 2 * (lane % 4);
      FMHA_BWD_UNROLL
      for (int j = 0; j < kM / 8; ++j) {
        if (8 * j < from0) s[4 * j] = 0.0F;
        if (8 * j + 1 < from0) s[4 * j + 1] = 0.0F;
        if (8 * j < from8) s[4 * j + 2] = 0.0F;
        if (8 * j + 1 < from8) s[4 * j + 3] = 0.0F;
      }
    }
    FMHA_BWD_UNROLL
    for (int j = 0; j < kM / 8; ++j) {
      row[j] = *reinterpret_cast<const float2*>(shared.d[stage] + 2 * (lane % 4) + 8 * j);
    }
    TRACE(5);
    products_wait<0>();
    products_finished(dp);
    TRACE(6);

    // dS of dP
    std::uint32_t p[kM / 16][4];
    std::uint32_t ds[kM / 16][4];
    FMHA_BWD_UNROLL
    for (int j = 0; j < kM / 8; ++j) {
      const float ds0 = s[4 * j] * (dp[4 * j] - row[j].x);
      const float ds1 = s[4 * j + 1] * (dp[4 * j + 1] - row[j].y);
      const float ds2 = s[4 * j + 2] * (dp[4 * j + 2] - row[j].x);
      const float ds3 = s[4 * j + 3] * (dp[4 * j + 3] - row[j].y);
      p[j / 2][j % 2 * 2] = pack<T>(s[4 * j], s[4 * j + 1]);
      p[j / 2][j % 2 * 2 + 1] = pack<T>(s[4 * j + 2], s[4 * j + 3]);
      ds[j / 2][j % 2 * 2] = pack<T>(ds0, ds1);
      ds[j / 2][j % 2 * 2 + 1] = pack<T>(ds2, ds3);
    }
    const std::uint64_t d_o_rows = descriptor(shared.d_o[stage], Tile::kQueryPanelBytes);
    products_begin();
    FMHA_BWD_UNROLL
    for (int i = 0; i < kM / 16; ++i) {
      multiply<T, kHeadDim, true>(dv, p[i], moved(d_o_rows, i * 2048), t > 0 || i > 0);
    }
    products_commit();
    TRACE(7);

    // dS to shared memory for dQ
    barrier_wait(shared.ds_empty[ds_out.stage], ds_out.parity ^ 1);
    {
      const std::uint32_t to = shared_address(shared.ds[ds_out.stage] + kHalf * 64 * 128) + matrix_row;
      FMHA_BWD_UNROLL
      for (int i = 0; i < kM / 16; ++i) {
        store_matrices((to ^ (i % 4 * 32)) + static_cast<std::uint32_t>(i / 4 * Tile::kDsPanelBytes), ds[i]);
      }
    }
    TRACE(8);

    // dK += dS^T Q
    const std::uint64_t q_rows = descriptor(shared.q[stage], Tile::kQueryPanelBytes);
    products_begin();
    FMHA_BWD_UNROLL
    for (int i = 0; i < kM / 16; ++i) {
      multiply<T, kHeadDim, true>(dk, ds[i], moved(q_rows, i * 2048), t > 0 || i > 0);
    }
    products_commit();
    // dS is there for the other warpgroup.
    fence_async_proxy();
    __syncwarp();
#if HOP_TMA
    if (thread == 0) {
      store_wait_for_reads();
      barrier_arrive(shared.dq_free[kHalf]);
    }
#endif
    if (lane == 0) barrier_arrive(shared.ds_full[ds_out.stage]);
    __syncwarp();
    ds_out.advance();
    TRACE(9);
    float dq[32];
    if (t > 1) barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
    products_begin();
    issue_dq(dq, ds_in.stage);  // before the third tile: of nothing, and not added
    TRACE(10);
#if HOP_STAGGER
    if (t == 0 && kHalf == 0) named_barrier_arrive<2 * kWarpgroup, 1>();
#endif
    products_wait<0>();
    products_finished(dq);
    if (lane == 0) barrier_arrive(shared.query_empty[stage]);
    if (t > 1) {
      if (lane == 0) barrier_arrive(shared.ds_empty[ds_in.stage]);
      ds_in.advance();
#if HOP_TMA
      barrier_wait(shared.dq_free[kHalf], static_cast<unsigned>(t % 2));
#endif
      store_dq(dq, index_before_2);
    }
    __syncwarp();
    TRACE(11);
    ring.advance();
  } while (++t < tiles);
  products_finished(dv);
  products_finished(dk);

  // dQ of the last tiles
  const auto free_dq_buffer = [&] {
#if HOP_TMA
    if (thread == 0) store_wait_for_reads();
    named_barrier<kWarpgroup, 4 + kHalf>();
#endif
  };
  if (tiles > 2) {
    send_dq(index_before_2);
    free_dq_buffer();
  }
  for (int left = tiles < 2 ? 1 : 2; left > 0; --left) {
    float last_dq[32];
    barrier_wait(shared.ds_full[ds_in.stage], ds_in.parity);
    products_begin();
    issue_dq(last_dq, ds_in.stage);
    products_wait<0>();
    products_finished(last_dq);
    store_dq(last_dq, left == 2 ? index_before : index);
    send_dq(left == 2 ? index_before : index);
    if (left > 1) free_dq_buffer();
    ds_in.advance();
  }

#ifdef HOP_TRACE
  if (thread == 0 && blockIdx.x == 300)
    for (int i = 0; i < 8; ++i) for (int j = 0; j < 13; ++j) trace_out[kHalf][i][j] = shared.trace[kHalf][i][j];
#endif
  // V's rows were this warpgroup's alone; Q's stages are free when both have come here.
  std::byte* const dv_out = shared.v + kHalf * 64 * 128;
  std::byte* const dk_out = shared.q[0] + kHalf * Tile::kPanels * 64 * 128;
  static_assert(2 * Tile::kPanels * 64 * 128 <= sizeof(shared.q));
  tile_from_sums<T, kHeadDim>(dv_out, Tile::kKeyPanelBytes, dv, 1.0F, 1.0F, matrix_row);
  named_barrier<2 * kWarpgroup, 1>();
  tile_from_sums<T, kHeadDim>(dk_out, 64 * 128, dk, a.scale, a.scale, matrix_row);
  named_barrier<kWarpgroup, 4 + kHalf>();
  if (thread == 0) {
    const int first_key = static_cast<int>(blockIdx.x) % a.key_tiles * kN + kHalf * 64;
    for (int p = 0; p < Tile::kPanels; ++p) {
      store_tile(a.dv, p * kPanelColumns, first_key, shared.head_k, shared.batch, dv_out + p * Tile::kKeyPanelBytes);
      store_tile(a.dk, p * kPanelColumns, first_key, shared.head_k, shared.batch, dk_out + p * 64 * 128);
    }
    store_commit_and_wait_for_reads();
  }
}

template <class T, int kHeadDim>
__global__ __launch_bounds__(3 * kWarpgroup, 1) void dq_dk_dv_kernel(
    const __grid_constant__ DqDkDvArguments<kHeadDim> a) {
  using Tile = Tiling<kHeadDim>;
  constexpr int kM = Tile::kM;
  constexpr int kN = Tile::kN;
  extern __shared__ __align__(1024) std::byte raw[];
  auto& shared = *reinterpret_cast<SharedMemory<kHeadDim>*>(raw);

  const int warpgroup = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / kWarpgroup, 0);

  const int key_tile = static_cast<int>(blockIdx.x) % a.key_tiles;
  const int head_of_batch = static_cast<int>(blockIdx.x) / a.key_tiles;
  const int batch = head_of_batch / a.nhead_k;
  const int head_k = head_of_batch % a.nhead_k;
  const int first_key = key_tile * kN;
  const int seqlen_k = static_cast<int>(a.mask.seqlen_k());
  const int end_key = first_key + kN < seqlen_k ? first_key + kN : seqlen_k;
  const Range queries = a.mask.queries_of({first_key, end_key});
  const int first_tile = static_cast<int>(queries.begin) / kM;
  const int end_tile = queries.empty() ? first_tile : (static_cast<int>(queries.end) + kM - 1) / kM;
  const int tiles_a_head = end_tile - first_tile;
  const int tiles = tiles_a_head * a.group_size;
#if HOP_ROTATE
  const int start_tile = first_tile + (tiles_a_head > 0 ? (key_tile * HOP_ROTATE) % tiles_a_head : 0);
#else
  const int start_tile = first_tile;
#endif

  if (threadIdx.x == 0) {
    barrier_init(shared.k_full, 1);
    barrier_init(shared.v_full, 1);
    for (int s = 0; s < Tile::kStages; ++s) {
      barrier_init(shared.q_full[s], 1);
      barrier_init(shared.d_o_full[s], 1);
      barrier_init(shared.query_empty[s], 8);
    }
    for (int s = 0; s < Tile::kDsStages; ++s) {
      barrier_init(shared.ds_full[s], 8);
      barrier_init(shared.ds_empty[s], 8);
    }
    barrier_init(shared.dq_free[0], 1);
    barrier_init(shared.dq_free[1], 1);
    fence_barrier_init();
    shared.all_seen_by = first_key + kN <= seqlen_k ? static_cast<int>(a.mask.visible_queries(first_key + kN - 1).begin) : kNobody;
    shared.batch = batch;
    shared.head_k = head_k;
    shared.tiles = tiles;
    shared.first_tile = first_tile;
    shared.end_tile = end_tile;
    shared.start_tile = shared.next_tile = start_tile;
    shared.next_head = head_k * a.group_size;
  }
  if (threadIdx.x < kN) {
    const int key = first_key + static_cast<int>(threadIdx.x);
    shared.first_seen_by[threadIdx.x] = key < seqlen_k ? static_cast<int>(a.mask.visible_queries(key).begin) : kNobody;
  }
  __syncthreads();

  if (tiles == 0) {
    for (int i = static_cast<int>(threadIdx.x); i < 64 * 128 / 16; i += 3 * kWarpgroup) {
      reinterpret_cast<uint4*>(shared.v)[i] = uint4{};
    }
    fence_async_proxy();
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int row = 0; row < kN; row += 64) {
      for (int p = 0; p < Tile::kPanels; ++p) {
        store_tile(a.dk, p * kPanelColumns, first_key + row, head_k, batch, shared.v);
        store_tile(a.dv, p * kPanelColumns, first_key + row, head_k, batch, shared.v);
      }
    }
    store_commit_and_wait_for_reads();
    return;
  }

  if (warpgroup == 0) {
    give_registers<24>();
    if (threadIdx.x == 0) load_tiles(a, shared);
  } else if (warpgroup == 1) {
    take_registers<240>();
    differentiate<T, kHeadDim, 0>(a, shared);
  } else {
    take_registers<240>();
    differentiate<T, kHeadDim, 1>(a, shared);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
