// Backward stage 2 on matrix cores: dQ, dK and dV in one pass over the scores.
//
//   S = scale Q K^T,  P = exp(S - LSE),  dP = dO V^T,  dS = P (dP - D)
//   dV = P^T dO,  dK = scale dS^T Q,  dQ += dS K     (stage 3 scales dQ)
//
// for plain scores; kernels/scores.h has P and dS (there dx) for the others.
//
// Tiling: a workgroup owns kN keys of one key head and walks over the tiles of kM queries that see any of
// them, for every query head of the group. A wave owns 16 or 32 of the keys. For a tile of queries it does
//   1. S and dP of its keys, whose sums are laid out such that
//   2. P and dS, packed to 16 bits, are left operands as they are: dV += P^T dO and dK += dS^T Q, without a
//      way through shared memory;
//   3. dS to shared memory, for the products dS K, of which each wave has some of the rows and columns;
//   4. dQ of the tile before, added to the accumulator from registers, in the order of the registers.
// One barrier a tile: dS has two buffers and dQ is a tile behind, and the next Q and dO are on their way
// while this tile is multiplied. Which keys each lane's pairs are, and which queries see them, is known
// before the walk: on tiles that all of the keys see, masks cost nothing, and tiles that nobody sees are
// left out. Of a head's blocks those with the most tiles start first, each at another tile, so that their
// additions to dQ don't meet.
//
// The unit (kernels/cdna/unit.h, kernels/rdna/unit.h, kernels/mma/unit.h) is one wave's matrix product: an
// owner row is a key here, a walked row a query. kernels/*/sizes.h has the sizes, registers and shared
// memory; docs/amd.md and docs/mma.md the bounds.
#pragma once

#include "kernels/matrix/keys.h"
#include "kernels/matrix/store.h"
#include "kernels/matrix/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// What a workgroup does with one tile of its keys.
template <class B, bool kPlain>
class KeyTileWalk {
  using Unit = typename B::Unit;
  using T = typename Unit::Element;
  using Operand = typename Unit::Operand;
  using Keys = std::conditional_t<B::kKeysInRegisters, RegisterKeys<B>, SharedKeys<B>>;
  using Loader = TileLoader<Unit, B::kThreads, B::kM, B::kHeadDim>;
  static constexpr int kSums = Unit::kSums;

 public:
  __device__ __forceinline__ KeyTileWalk(const Arguments<T>& a, std::byte* shared, int sequence_index,
                                         int head_k, const Sequence& sequence, int key_tile)
      : a_(a),
        shared_(shared),
        sequence_(sequence),
        index_(sequence_index),
        head_k_(head_k),
        first_key_(key_tile * B::kN),
        wave_(uniform(static_cast<int>(threadIdx.x) / Unit::kWave)),
        key_wave_(wave_ / B::kColumnWaves),
        first_column_(wave_ % B::kColumnWaves * B::kColumns),
        keys_(shared) {}

  __device__ __forceinline__ void run(float* dq_acc) {
    const Mask mask(a_.mask, sequence_.seqlen_q, sequence_.seqlen_k);
    const auto seqlen_k = static_cast<int>(sequence_.seqlen_k);
    const int end_key = first_key_ + B::kN < seqlen_k ? first_key_ + B::kN : seqlen_k;
    const Walk walk(mask, first_key_, end_key, first_key_ + B::kN <= seqlen_k, B::kM, first_key_ / B::kN,
                    a_.group_size);
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int i = 0; i < Unit::kOwners; ++i) {
        const int key = this->key(b, Unit::owner(i));
        seen_by_[b][i] = key < seqlen_k ? Queries(mask.visible_queries(key)) : Queries();
      }
    }

    float dk[B::kOwnerBlocks][B::kGroups][B::kGroup][kSums] = {};
    float dv[B::kOwnerBlocks][B::kGroups][B::kGroup][kSums] = {};
    if (walk.visits() > 0) {
      keys_.load(a_.k.keys(sequence_, head_k_), a_.v.keys(sequence_, head_k_), first_key_, wave_);
      visit_all(walk, dq_acc, dk, dv);
    }
    store_all(dk, dv);
  }

 private:
  using Scores = float[B::kOwnerBlocks][B::kWalkBlocks][kSums];
  using Gradients = float[B::kOwnerBlocks][B::kGroups][B::kGroup][kSums];

  /// The key of owner row `index` of block `block`.
  __device__ __forceinline__ int key(int block, int index) const {
    return first_key_ + key_wave_ * B::kWaveKeys + Unit::template owner_row<B::kOwnerBlocks>(block, index);
  }
  __device__ __forceinline__ int head_of(int member) const { return head_k_ * a_.group_size + member; }

  __device__ __forceinline__ typename B::QueryTile q_tile(int stage) const {
    return {shared_ + stage * B::kQueryTileBytes};
  }
  __device__ __forceinline__ typename B::QueryTile d_o_tile(int stage) const {
    return {shared_ + B::kDOAt + stage * B::kQueryTileBytes};
  }
  __device__ __forceinline__ typename B::DsTile ds_tile(int buffer) const {
    return {shared_ + B::kDsAt + buffer * B::kDsTileBytes};
  }
  __device__ __forceinline__ float* lse_rows(int stage) const {
    return reinterpret_cast<float*>(shared_ + B::kLseAt + stage * B::kRowBytes);
  }
  __device__ __forceinline__ float* d_rows(int stage) const {
    return reinterpret_cast<float*>(shared_ + B::kDAt + stage * B::kRowBytes);
  }

  __device__ __forceinline__ void begin(const Visit& visit, int stage) {
    const int head = head_of(visit.member);
    const int first_query = visit.tile * B::kM;
    q_loader_.begin(q_tile(stage), a_.q.queries(sequence_, head), first_query);
    d_o_loader_.begin(d_o_tile(stage), a_.d_o.queries(sequence_, head), first_query);
    if constexpr (Unit::kCopiesAsync) copy_async_commit();
    const auto row = static_cast<int>(threadIdx.x);
    if (row >= B::kM) return;
    const auto lse = a_.lse.queries(sequence_, head);
    const bool exists = first_query + row < lse.rows;
    lse_ = exists ? *lse.row(first_query + row) : 0.0F;
    d_ = exists ? *a_.d.queries(sequence_, head).row(first_query + row) : 0.0F;
  }

  __device__ __forceinline__ void finish(int stage) {
    q_loader_.finish(q_tile(stage));
    d_o_loader_.finish(d_o_tile(stage));
    if constexpr (Unit::kCopiesAsync) copy_async_wait<0>();
    const auto row = static_cast<int>(threadIdx.x);
    if (row >= B::kM) return;
    lse_rows(stage)[row] = kPlain ? lse_ * kLog2E - static_cast<float>(kPShift<T>) : lse_;
    d_rows(stage)[row] = kPlain ? d_ * kUnshift : d_;
  }

  __device__ __forceinline__ void visit_all(const Walk& walk, float* dq_acc, Gradients& dk, Gradients& dv) {
    Visit visit = walk.first();
    begin(visit, 0);
    finish(0);
    __syncthreads();
    Visit before = visit;
    const int visits = walk.visits();
    for (int v = 0; v < visits; ++v) {
      const int stage = v % B::kStages;
      const int next_stage = (v + 1) % B::kStages;
      const Visit next = walk.after(visit);
      if (v + 1 < visits) begin(next, next_stage);
      differentiate(visit, walk.is_cut(visit.tile), stage, v % 2, dk, dv);
      if (v > 0) add_dq(before, (v + 1) % 2, dq_acc);
      if (v + 1 < visits) {
        if (B::kStages == 1) __syncthreads();
        finish(next_stage);
      }
      __syncthreads();
      before = visit;
      visit = next;
    }
    add_dq(before, (visits + 1) % 2, dq_acc);
  }

  /// P, dS, dV and dK of a tile of queries.
  __device__ __forceinline__ void differentiate(const Visit& visit, bool is_cut, int stage, int buffer,
                                                Gradients& dk, Gradients& dv) {
    Scores s = {};
    Scores dp = {};
    FMHA_BWD_UNROLL
    for (int step = 0; step < B::kSteps; ++step) {
      Operand keys[B::kOwnerBlocks];
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) keys[b] = keys_.k_rows(key_wave_, b, step);
      multiply_walked(s, keys, q_tile(stage), step);
    }
    FMHA_BWD_UNROLL
    for (int step = 0; step < B::kSteps; ++step) {
      Operand keys[B::kOwnerBlocks];
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) keys[b] = keys_.v_rows(key_wave_, b, step);
      multiply_walked(dp, keys, d_o_tile(stage), step);
    }
    if constexpr (kPlain) {
      plain_gradients(s, dp, visit, is_cut, stage);
    } else {
      scored_gradients(s, dp, visit, stage);
    }

    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < B::kChunks; ++chunk) {
      Operand left[B::kOwnerBlocks];
      make_left(left, s, chunk);
      multiply_owned(dv, left, d_o_tile(stage), chunk);
    }
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < B::kChunks; ++chunk) {
      Operand left[B::kOwnerBlocks];
      make_left(left, dp, chunk);
      if (B::kColumnWaves == 1 || first_column_ == 0) {
        Unit::store_ds(ds_tile(buffer), left, chunk * Unit::kDepth, key_wave_ * B::kWaveKeys);
      }
      multiply_owned(dk, left, q_tile(stage), chunk);
    }
  }

  /// Scores of the wave's keys with all of a tile's queries, over kDepth columns.
  __device__ static __forceinline__ void multiply_walked(Scores& scores,
                                                         const Operand (&keys)[B::kOwnerBlocks],
                                                         const typename B::QueryTile& tile, int step) {
    FMHA_BWD_UNROLL
    for (int w = 0; w < B::kWalkBlocks; ++w) {
      const Operand queries = Unit::rows(tile, 16 * w, step);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) Unit::multiply_scores(scores[b][w], keys[b], queries);
    }
  }

  __device__ static __forceinline__ void make_left(Operand (&left)[B::kOwnerBlocks], const Scores& weights,
                                                   int chunk) {
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      left[b] = Unit::left_of(
          reinterpret_cast<const float(&)[B::kDepthBlocks][kSums]>(weights[b][chunk * B::kDepthBlocks]));
    }
  }

  /// sums += left times kDepth rows of a tile: dV of P and dO, dK of dS and Q.
  __device__ __forceinline__ void multiply_owned(Gradients& sums, const Operand (&left)[B::kOwnerBlocks],
                                                 const typename B::QueryTile& tile, int chunk) const {
    FMHA_BWD_UNROLL
    for (int group = 0; group < B::kGroups; ++group) {
      Operand right[B::kGroup];
      Unit::template columns<true>(right, tile, chunk * Unit::kDepth, first_column_ + group * 16 * B::kGroup);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        FMHA_BWD_UNROLL
        for (int t = 0; t < B::kGroup; ++t) Unit::multiply(sums[b][group][t], left[b], right[t]);
      }
    }
  }

  /// P 2^shift in place of the products of S, dS in place of dP.
  __device__ __forceinline__ void plain_gradients(Scores& s, Scores& dp, const Visit& visit, bool is_cut,
                                                  int stage) const {
    const float scale_log2 = a_.scores.scale * kLog2E;
    FMHA_BWD_UNROLL
    for (int w = 0; w < B::kWalkBlocks; ++w) {
      float lse[kSums];
      float d[kSums];
      Unit::walked_values(lse_rows(stage) + 16 * w, lse);
      Unit::walked_values(d_rows(stage) + 16 * w, d);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) s[b][w][r] = exp2_approximate(s[b][w][r] * scale_log2 - lse[r]);
        if (is_cut) {
          FMHA_BWD_UNROLL
          for (int r = 0; r < kSums; ++r) {
            const int query = visit.tile * B::kM + 16 * w + Unit::walked(r);
            if (!seen_by_[b][Unit::owner_index(r)].contains(query)) s[b][w][r] = 0.0F;
          }
        }
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) dp[b][w][r] = s[b][w][r] * (dp[b][w][r] * kUnshift - d[r]);
      }
    }
  }

  /// The same of scores that are not plain.
  __device__ __forceinline__ void scored_gradients(Scores& s, Scores& dp, const Visit& visit,
                                                   int stage) const {
    const HeadScores<T> scores =
        a_.scores.of(HeadPlace(index_, head_of(visit.member), a_.mask, static_cast<int>(sequence_.seqlen_q),
                               static_cast<int>(sequence_.seqlen_k)));
    // Kept P is packed without 1 / (1 - p), which store_all makes up for.
    const float p_scale = static_cast<float>(1 << kPShift<T>) / a_.scores.draws.keep_scale;
    FMHA_BWD_UNROLL
    for (int w = 0; w < B::kWalkBlocks; ++w) {
      float lse[kSums];
      float d[kSums];
      Unit::walked_values(lse_rows(stage) + 16 * w, lse);
      Unit::walked_values(d_rows(stage) + 16 * w, d);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) {
          const int query = visit.tile * B::kM + 16 * w + Unit::walked(r);
          const int i = Unit::owner_index(r);
          PairGradients pair = {};
          if (seen_by_[b][i].contains(query)) {
            pair = scores.gradients(s[b][w][r], dp[b][w][r], lse[r], d[r], query, key(b, Unit::owner(i)));
          }
          s[b][w][r] = pair.p * p_scale;
          dp[b][w][r] = pair.dx;
        }
      }
    }
  }

  /// Adds this wave's part of dQ / scale of a tile to the accumulator.
  __device__ __forceinline__ void add_dq(const Visit& visit, int buffer, float* dq_acc) const {
    const int first_query = wave_ / B::kDqColumnWaves * 16 * B::kDqRowBlocks;
    const int first_column = wave_ % B::kDqColumnWaves * B::kDqColumns;
    float dq[B::kDqRowBlocks][B::kDqGroups][B::kDqGroup][kSums] = {};
    FMHA_BWD_UNROLL
    for (int step = 0; step < B::kKeySteps; ++step) {
      Operand left[B::kDqRowBlocks];
      FMHA_BWD_UNROLL
      for (int i = 0; i < B::kDqRowBlocks; ++i)
        left[i] = Unit::ds_rows(ds_tile(buffer), first_query + 16 * i, step);
      FMHA_BWD_UNROLL
      for (int group = 0; group < B::kDqGroups; ++group) {
        Operand right[B::kDqGroup];
        keys_.k_columns(right, step, group, first_column);
        FMHA_BWD_UNROLL
        for (int i = 0; i < B::kDqRowBlocks; ++i) {
          FMHA_BWD_UNROLL
          for (int t = 0; t < B::kDqGroup; ++t) Unit::multiply(dq[i][group][t], left[i], right[t]);
        }
      }
    }
    const std::int64_t tile =
        AccPlace::first_tile(a_, sequence_, index_, head_of(visit.member), B::kM) + visit.tile;
    float* block = dq_acc + (tile * B::kWaves + wave_) * B::kDqWaveFloats;
    FMHA_BWD_UNROLL
    for (int i = 0; i < B::kDqRowBlocks; ++i) {
      FMHA_BWD_UNROLL
      for (int group = 0; group < B::kDqGroups; ++group) {
        FMHA_BWD_UNROLL
        for (int t = 0; t < B::kDqGroup; ++t) {
          add_to_global<Unit::kWave>(block, Unit::lane(), dq[i][group][t]);
          block += 256;
        }
      }
    }
  }

  __device__ __forceinline__ void store_all(const Gradients& dk, const Gradients& dv) const {
    const float dv_factor = kPlain ? kUnshift : kUnshift * a_.scores.draws.keep_scale;
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      const auto row_of = [&](int r) { return key(b, Unit::row(r)); };
      FMHA_BWD_UNROLL
      for (int group = 0; group < B::kGroups; ++group) {
        const int column = first_column_ + group * 16 * B::kGroup;
        store_group<Unit>(a_.dk.keys(sequence_, head_k_), row_of, column, dk[b][group],
                          [&](int) { return a_.scores.scale; });
        store_group<Unit>(a_.dv.keys(sequence_, head_k_), row_of, column, dv[b][group],
                          [&](int) { return dv_factor; });
      }
    }
  }

  static constexpr float kUnshift = 1.0F / static_cast<float>(1 << kPShift<T>);

  const Arguments<T>& a_;
  std::byte* const shared_;
  const Sequence sequence_;
  const int index_;
  const int head_k_;
  const int first_key_;
  const int wave_;
  const int key_wave_;
  const int first_column_;
  Keys keys_;
  Loader q_loader_;
  Loader d_o_loader_;
  float lse_ = 0.0F;
  float d_ = 0.0F;
  Queries seen_by_[B::kOwnerBlocks][Unit::kOwners];
};

template <class Traits, class T, int kHeadDim, bool kPlain,
          class B = typename Traits::template Backward<T, kHeadDim, kPlain>>
__global__ __launch_bounds__(B::kThreads, B::kWorkgroups) void dq_dk_dv_kernel(Arguments<T> a) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  const auto slices = static_cast<unsigned>(a.slices);
  const auto slice = static_cast<int>(blockIdx.x % slices);
  const auto plane = static_cast<int>(blockIdx.x / slices);
  const int index = plane / a.nhead_k;
  const Sequence sequence = a.sequences.at(index);
  for (int tile = slice; tile * B::kN < static_cast<int>(sequence.seqlen_k); tile += a.slices) {
    if (tile != slice) __syncthreads();
    KeyTileWalk<B, kPlain>(a, reinterpret_cast<std::byte*>(shared), index, plane % a.nhead_k, sequence, tile)
        .run(a.dq_acc + slice * a.slice);
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
