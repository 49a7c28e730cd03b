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
// while this tile is multiplied (two barriers where dS is in two parts: kernels/matrix/split_ds.h). Which
// tiles of queries see all of the keys is known before the walk: masks cost nothing there, and tiles that see
// none of them are left out. Of a head's blocks those with the most tiles start first, each at another tile,
// so that their additions to dQ don't meet.
//
// The unit (kernels/cdna/unit.h, kernels/rdna/unit.h, kernels/mma/unit.h) is one wave's matrix product: an
// owner row is a key here, a walked row a query. kernels/*/sizes.h has the sizes, registers and shared
// memory; docs/amd.md and docs/mma.md the bounds.
#pragma once

#include "kernels/matrix/key_powers.h"
#include "kernels/matrix/keys.h"
#include "kernels/matrix/products.h"
#include "kernels/matrix/query_tiles.h"
#include "kernels/matrix/split_ds.h"
#include "kernels/matrix/store.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// What a workgroup does with one tile of its keys.
template <class B, bool kPlain>
class KeyTileWalk {
  using Unit = typename B::Unit;
  using T = typename Unit::Element;
  using Operand = typename Unit::Operand;
  using Keys = std::conditional_t<B::kKeysInRegisters, RegisterKeys<B>, SharedKeys<B>>;
  static constexpr int kSums = Unit::kSums;

 public:
  __device__ __forceinline__ KeyTileWalk(const Arguments<T>& a, std::byte* shared, const BlockPart& part,
                                         const Sequence& sequence, int key_tile)
      : a_(a),
        shared_(shared),
        seqlen_k_(scalar(static_cast<int>(sequence.seqlen_k))),
        first_key_(key_tile * B::kN),
        queries_(a, shared, part, sequence),
        dq_acc_(a.dq_acc + part.slice * a.slice +
                AccPlace::first_tile(a, sequence, part.index, part.head_k * a.group_size, B::kM) *
                    kDqTileFloats +
                wave() * B::kDqWaveFloats),
        scales_(matrix::scales_of<Unit>(a)),
        p_powers_(is_scaled<Unit>(a)),
        ds_powers_(is_scaled<Unit>(a)),
        keys_(shared) {}

  __device__ __forceinline__ void run() {
    const Mask mask(a_.mask, queries_.seqlen_q(), seqlen_k_);
    const bool whole = first_key_ + B::kN <= seqlen_k_;
    const Walk walk(mask, first_key_, whole ? first_key_ + B::kN : seqlen_k_, whole, B::kM,
                    first_key_ / B::kN, a_.group_size);
    Gradients dk = {};
    Gradients dv = {};
    if (walk.visits() > 0) {
      if constexpr (Unit::kNotesMasks) noted().note(mask, first_key_);
      const BlockPart part(a_);
      const Sequence sequence = a_.sequences.at(part.index);
      keys_.load(unit(), a_.k.keys(sequence, part.head_k), a_.v.keys(sequence, part.head_k), first_key_,
                 wave(), scales_);
      visit_all(walk, dk, dv);
    }
    const float dv_factor = (kPlain ? kPUnshift<T> : kPUnshift<T> * a_.scores.draws.keep_scale) / scales_.d_o;
    // Asked for again: there are no registers to keep it in.
    const BlockPart part(a_);
    const Sequence sequence = a_.sequences.at(part.index);
    const Rows<T> dk_rows = a_.dk.keys(sequence, part.head_k);
    const Rows<T> dv_rows = a_.dv.keys(sequence, part.head_k);
    const float dk_factor = a_.scores.scale / (scales_.ds * scales_.q);
    if constexpr (Unit::kAdjacentSums) {
      // K's and V's places are free when all have done with them.
      const typename B::KeyTile dk_tile = {shared_ + B::kKAt};
      const typename B::KeyTile dv_tile = {shared_ + B::kVAt};
      __syncthreads();
      put(dk_tile, dk, dk_factor);
      put(dv_tile, dv, dv_factor);
      __syncthreads();
      copy_out<B::kThreads, B::kN>(dk_tile, dk_rows, first_key_);
      copy_out<B::kThreads, B::kN>(dv_tile, dv_rows, first_key_);
    } else {
      store(dk_rows, dk, dk_factor, ds_powers_);
      store(dv_rows, dv, dv_factor, p_powers_);
    }
  }

 private:
  // Asked for anew where they are needed, so that few addresses are kept in registers meanwhile.
  __device__ static __forceinline__ Unit unit() {
    return Unit(current_lane_of<Unit::kWave, B::kKeepsAddresses>());
  }
  __device__ static __forceinline__ int wave() { return current_wave<Unit::kWave>(); }
  __device__ static __forceinline__ int key_wave() { return wave() / B::kColumnWaves; }
  __device__ static __forceinline__ int first_column() { return wave() % B::kColumnWaves * B::kColumns; }

  static constexpr int kDqTileFloats = B::kM * B::kHeadDim;

  using Scores = float[B::kOwnerBlocks][B::kChunks][B::kDepthBlocks][kSums];
  using Lefts = Operand[B::kChunks][B::kOwnerBlocks];
  using Gradients = float[B::kOwnerBlocks][B::kGroups][B::kGroup][kSums];

  /// The key of owner row `index` of block `block`.
  __device__ __forceinline__ int key(int block, int index) const {
    return first_key_ + key_wave() * B::kWaveKeys + Unit::template owner_row<B::kOwnerBlocks>(block, index);
  }
  __device__ __forceinline__ SeenBy<B::kN> noted() const { return SeenBy<B::kN>(shared_ + B::kSeenByAt); }
  /// Which queries see each of the lane's keys. Not kept: few tiles need it, and registers are scarce.
  struct LaneSeenBy {
    Queries of[B::kOwnerBlocks][Unit::kOwners];

    __device__ __forceinline__ LaneSeenBy(const Unit& unit, const KeyTileWalk& walk) {
      const Mask mask(walk.a_.mask, walk.queries_.seqlen_q(), walk.seqlen_k_);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        FMHA_BWD_UNROLL
        for (int i = 0; i < Unit::kOwners; ++i) {
          const int key = walk.key(b, unit.owner(i));
          if constexpr (Unit::kNotesMasks) {
            of[b][i] = walk.noted()[key - walk.first_key_];
          } else if (key < walk.seqlen_k_) {
            of[b][i] = Queries(mask.visible_queries(key));
          }
        }
      }
    }
  };

  __device__ __forceinline__ typename B::DsTile ds_tile(int buffer) const {
    return {shared_ + B::kDsAt + buffer * B::kDsTileBytes};
  }
  __device__ __forceinline__ int* small_ds() const { return reinterpret_cast<int*>(shared_ + B::kSmallDsAt); }

  __device__ __forceinline__ void visit_all(const Walk& walk, Gradients& dk, Gradients& dv) {
    Visit visit = walk.first();
    queries_.begin(visit, 0);
    queries_.finish(0, scales_);
    __syncthreads();
    Visit before = visit;
    const int visits = walk.visits();
    for (int v = 0; v < visits; ++v) {
      const int stage = v % B::kStages;
      const Visit next = walk.after(visit);
      if (v + 1 < visits && !B::kLoadsLate) queries_.begin(next, (v + 1) % B::kStages);
      if (is_scaled<Unit>(a_) && v > 0) {
        add_dq_of(before, 0);  // dS has no other buffer
        __syncthreads();
      }
      differentiate(visit, walk.is_cut(visit.tile), stage, v % 2, dk, dv);
      if (!is_scaled<Unit>(a_) && v > 0) add_dq_of(before, (v + 1) % 2);
      if (v + 1 < visits) {
        if (B::kLoadsLate) queries_.begin(next, (v + 1) % B::kStages);
        if (B::kStages == 1) __syncthreads();
        queries_.finish((v + 1) % B::kStages, scales_);
      }
      __syncthreads();
      before = visit;
      visit = next;
    }
    add_dq_of(before, (visits + 1) % 2);
  }

  /// P, dS, dV and dK of a tile of queries.
  __device__ __forceinline__ void differentiate(const Visit& visit, bool is_cut, int stage, int buffer,
                                                Gradients& dk, Gradients& dv) {
    const Unit unit = KeyTileWalk::unit();
    const int key_wave = KeyTileWalk::key_wave();
    const int first_column = KeyTileWalk::first_column();
    Scores s = {};
    Scores dp = {};
    add_scores(
        unit, s, [&](int b, int step) { return keys_.k_rows(unit, key_wave, b, step); },
        queries_.q_tile(stage));
    add_scores(
        unit, dp, [&](int b, int step) { return keys_.v_rows(unit, key_wave, b, step); },
        queries_.d_o_tile(stage));
    if constexpr (kPlain) {
      plain_gradients(unit, s, dp, visit, is_cut, stage);
    } else {
      scored_gradients(unit, s, dp, visit, stage);
    }

    if constexpr (Unit::kScalesInputs) {
      if (is_scaled<Unit>(a_)) {
        split_ds_.store(unit, dp, ds_tile(0), ds_tile(1), small_ds(), key_wave);
        p_powers_.multiply(unit, s, dv);
        ds_powers_.multiply(unit, dp, dk);
      }
    }
    Lefts p;
    Lefts ds;
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < B::kChunks; ++chunk) {
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        p[chunk][b] = unit.left_of(s[b][chunk]);
        ds[chunk][b] = unit.left_of(dp[b][chunk]);
      }
      if (!is_scaled<Unit>(a_) && (B::kColumnWaves == 1 || first_column == 0)) {
        unit.store_ds(ds_tile(buffer), ds[chunk], chunk * Unit::kDepth, key_wave * B::kWaveKeys);
      }
    }
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < B::kChunks; ++chunk)
      add_weighted_rows(unit, dv, p[chunk], queries_.d_o_tile(stage), chunk * Unit::kDepth, first_column);
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < B::kChunks; ++chunk)
      add_weighted_rows(unit, dk, ds[chunk], queries_.q_tile(stage), chunk * Unit::kDepth, first_column);
  }

  /// P 2^shift in place of the products of S, dS in place of dP.
  __device__ __forceinline__ void plain_gradients(const Unit& unit, Scores& s, Scores& dp, const Visit& visit,
                                                  bool is_cut, int stage) const {
    const float scale_log2 = a_.scores.scale * kLog2E / (scales_.q * scales_.k);
    const float dp_scale = kPUnshift<T> * scales_.ds / (scales_.v * scales_.d_o);
    FMHA_BWD_UNROLL
    for (int w = 0; w < B::kWalkBlocks; ++w) {
      float lse[kSums];
      unit.walked_values(queries_.lse_of(stage) + 16 * w, lse);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        float(&p)[kSums] = s[b][w / B::kDepthBlocks][w % B::kDepthBlocks];
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) p[r] = exp2_approximate(p[r] * scale_log2 - lse[r]);
      }
    }
    if (is_cut) {
      const LaneSeenBy seen_by(unit, *this);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        FMHA_BWD_UNROLL
        for (int i = 0; i < Unit::kOwners; ++i) {
          const Queries queries = seen_by.of[b][i];
          FMHA_BWD_UNROLL
          for (int n = 0; n < B::kWalkBlocks * kSums; ++n) {
            const int w = n / kSums;
            const int r = n % kSums;
            if (Unit::owner_index(r) == i && !queries.contains(visit.tile * B::kM + 16 * w + unit.walked(r)))
              s[b][w / B::kDepthBlocks][w % B::kDepthBlocks][r] = 0.0F;
          }
        }
      }
    }
    FMHA_BWD_UNROLL
    for (int w = 0; w < B::kWalkBlocks; ++w) {
      float d[kSums];
      unit.walked_values(queries_.d_of(stage) + 16 * w, d);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        const float(&p)[kSums] = s[b][w / B::kDepthBlocks][w % B::kDepthBlocks];
        float(&ds)[kSums] = dp[b][w / B::kDepthBlocks][w % B::kDepthBlocks];
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) ds[r] = p[r] * (ds[r] * dp_scale - d[r]);
      }
    }
  }

  /// The same of scores that are not plain.
  __device__ __forceinline__ void scored_gradients(const Unit& unit, Scores& s, Scores& dp,
                                                   const Visit& visit, int stage) const {
    const BlockPart part(a_);
    const HeadScores<T> scores = a_.scores.of(HeadPlace(
        part.index, part.head_k * a_.group_size + visit.member, a_.mask, queries_.seqlen_q(), seqlen_k_));
    const LaneSeenBy seen_by(unit, *this);
    const float to_qk = 1.0F / (scales_.q * scales_.k);
    const float to_dp = 1.0F / (scales_.v * scales_.d_o);
    // Kept P is packed without 1 / (1 - p), which dV is multiplied by at last.
    const float p_scale = static_cast<float>(1 << kPShift<T>) / a_.scores.draws.keep_scale;
    FMHA_BWD_UNROLL
    for (int w = 0; w < B::kWalkBlocks; ++w) {
      float lse[kSums];
      float d[kSums];
      unit.walked_values(queries_.lse_of(stage) + 16 * w, lse);
      unit.walked_values(queries_.d_of(stage) + 16 * w, d);
      FMHA_BWD_UNROLL
      for (int b = 0; b < B::kOwnerBlocks; ++b) {
        float(&p)[kSums] = s[b][w / B::kDepthBlocks][w % B::kDepthBlocks];
        float(&ds)[kSums] = dp[b][w / B::kDepthBlocks][w % B::kDepthBlocks];
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) {
          const int query = visit.tile * B::kM + 16 * w + unit.walked(r);
          const int i = Unit::owner_index(r);
          PairGradients pair = {};
          if (seen_by.of[b][i].contains(query)) {
            pair = scores.gradients(p[r] * to_qk, ds[r] * to_dp, lse[r], d[r], query, key(b, unit.owner(i)));
          }
          p[r] = pair.p * p_scale;
          ds[r] = pair.dx * scales_.ds;
        }
      }
    }
  }

  __device__ __forceinline__ void add_dq_of(const Visit& visit, int buffer) const {
    const Unit unit = KeyTileWalk::unit();
    const int wave = KeyTileWalk::wave();
    const int first_column = wave % B::kDqColumnWaves * B::kDqColumns;
    const auto k_columns = [&](auto& right, int step, int group) {
      keys_.k_columns(unit, right, step, group, first_column);
    };
    float* const block = dq_acc_ + (visit.member * a_.plane_tiles + visit.tile) * kDqTileFloats;
    if constexpr (Unit::kScalesInputs) {
      if (is_scaled<Unit>(a_)) {
        split_ds_.add_dq(unit, ds_tile(0), ds_tile(1), small_ds(), wave, k_columns, block);
        return;
      }
    }
    add_dq<B>(unit, ds_tile(buffer), wave, k_columns, block);
  }

  __device__ __forceinline__ void put(const typename B::KeyTile& tile, const Gradients& gradients,
                                      float factor) const {
    const Unit unit = KeyTileWalk::unit();
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int group = 0; group < B::kGroups; ++group) {
        put_group(unit, tile, key_wave() * B::kWaveKeys + 16 * b, first_column() + group * 16 * B::kGroup,
                  gradients[b][group], factor);
      }
    }
  }
  __device__ __forceinline__ void store(const Rows<T>& rows, const Gradients& gradients, float factor,
                                        const KeyPowersOf<B>& powers) const {
    const Unit unit = KeyTileWalk::unit();
    FMHA_BWD_UNROLL
    for (int b = 0; b < B::kOwnerBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int group = 0; group < B::kGroups; ++group) {
        store_group(
            unit, rows, [&](int r) { return key(b, unit.row(r)); }, first_column() + group * 16 * B::kGroup,
            gradients[b][group], [&](int r) { return factor * powers.undo(unit, b, r); });
      }
    }
  }

  const Arguments<T>& a_;
  std::byte* const shared_;
  const int seqlen_k_;
  const int first_key_;
  QueryTiles<B, B, kPlain> queries_;
  float* const dq_acc_;  // of the group's first head
  const ScalesOf<Unit> scales_;
  KeyPowersOf<B> p_powers_;
  KeyPowersOf<B> ds_powers_;
  SplitDsOf<B> split_ds_;
  Keys keys_;
};

template <class Traits, class T, int kHeadDim, bool kPlain,
          class B = typename Traits::template Backward<T, kHeadDim, kPlain>>
__global__ __launch_bounds__(B::kThreads, B::kWorkgroups) void dq_dk_dv_kernel(Arguments<T> a) {
  using Unit = typename B::Unit;
  HIP_DYNAMIC_SHARED(uint4, shared)
  for (int tile = BlockPart(a).slice;; tile += a.slices) {
    const BlockPart part(a);
    if constexpr (Unit::kAsksAgain) {
      if (tile * B::kN >= static_cast<int>(a.sequences.at(part.index).seqlen_k)) return;
      if (tile >= a.slices) __syncthreads();  // the tile before is done with
      KeyTileWalk<B, kPlain>(a, reinterpret_cast<std::byte*>(shared), part, a.sequences.at(part.index), tile)
          .run();
      if (a.slice == 0) return;
    } else {
      const Sequence sequence = a.sequences.at(part.index);
      if (tile * B::kN >= static_cast<int>(sequence.seqlen_k)) return;
      if (tile >= a.slices) __syncthreads();
      KeyTileWalk<B, kPlain>(a, reinterpret_cast<std::byte*>(shared), part, sequence, tile).run();
    }
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
