// Backward stage 2 of plain scores on NVIDIA's tensor cores by mma.sync, where a block has 227 KB of shared
// memory: dQ, dK and dV in one pass over the scores.
//
//   S = scale Q K^T,  P = exp(S - LSE),  dP = dO V^T,  dS = P (dP - D)
//   dV = P^T dO,  dK = scale dS^T Q,  dQ += dS K     (stage 3 scales dQ)
//
// At head dimension 128 the kernel of kernels/matrix/dq_dk_dv.h is bound by reads of shared memory: a warp
// that keeps dV and dK of its keys has registers for 16 keys only, and each operand that it reads feeds two
// instructions. Here warps have roles. Four warps have 32 keys each and keep dV: S, P and dV += P^T dO of
// tile t. Four others have the same keys and keep dK: dP, dS and dK += dS^T Q, of tile t - 1, whose P the
// first four have left in shared memory. All eight share dQ of tile t - 2. So each read feeds four
// instructions; P and dS are still left operands from registers; and with one barrier a tile nobody waits
// for what the others have just made.
//
// Tiling: 64 queries by 128 keys, eight warps, one block a multiprocessor. Budget: 128 sums of dV or dK, 64
// of S or dP of 255 registers a thread; 227 KB of shared memory: K, V, three tiles of Q and dO (those of
// tiles t, t - 1 and the one under way), two of P and dS.
//
// P goes from warp to warp in the problem's type, in the words that are dV's operands: dS of it has one
// rounding more than dS of P in fp32.
//
// Bound: shared memory, 128 bytes a clock: 560 KB for 64 x 128 scores, where the other kernel reads and
// writes 784 KB; docs/mma.md has the account.
#pragma once

#include "kernels/matrix/products.h"
#include "kernels/matrix/query_tiles.h"
#include "kernels/matrix/store.h"
#include "kernels/mma/role_memory.h"
#include "kernels/mma/unit.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::mma {

/// What a block does with one tile of its keys.
template <class B>
class RoleWalk {
  using Unit = typename B::Unit;
  using T = typename Unit::Element;
  using Operand = typename Unit::Operand;
  using Memory = RoleMemory<B>;
  using KeyLoader = matrix::TileLoader<B, B::kN>;
  using Visit = matrix::Visit;
  static constexpr int kSums = Unit::kSums;
  static constexpr int kBlocks = B::kOwnerBlocks;
  static constexpr int kChunks = B::kChunks;
  static constexpr int kRoleWarps = B::kWaves / 2;
  static_assert(B::kKeyWaves == kRoleWarps);
  static constexpr int kDqTileFloats = B::kM * B::kHeadDim;

  using Scores = float[kBlocks][kChunks][1][kSums];
  using Gradients = float[kBlocks][B::kHeadDim / 16][1][kSums];

 public:
  __device__ __forceinline__ RoleWalk(const matrix::Arguments<T>& a, std::byte* shared,
                                      const matrix::BlockPart& part, const Sequence& sequence, int key_tile)
      : a_(a),
        shared_(shared),
        part_(part),
        seqlen_k_(static_cast<int>(sequence.seqlen_k)),
        first_key_(key_tile * B::kN),
        queries_(a, shared, part, sequence),
        dq_acc_(a.dq_acc + part.slice * a.slice +
                matrix::AccPlace::first_tile(a, sequence, part.index, part.head_k * a.group_size, B::kM) *
                    kDqTileFloats +
                warp() * B::kDqWaveFloats) {}

  __device__ __forceinline__ void run() {
    const Mask mask(a_.mask, queries_.seqlen_q(), seqlen_k_);
    const bool whole = first_key_ + B::kN <= seqlen_k_;
    const matrix::Walk walk(mask, first_key_, whole ? first_key_ + B::kN : seqlen_k_, whole, B::kM,
                            first_key_ / B::kN, a_.group_size);
    if (walk.visits() > 0) {
      seen_by().note(mask, first_key_);
      KeyLoader loader;
      const Sequence sequence = a_.sequences.at(part_.index);
      loader.begin(k_tile(), a_.k.keys(sequence, part_.head_k), first_key_);
      loader.begin(v_tile(), a_.v.keys(sequence, part_.head_k), first_key_);
      queries_.begin(walk.first(), 0);
      queries_.finish(0, {});
      __syncthreads();
    }
    const bool is_values = uniform(warp()) < kRoleWarps;
    Gradients sums = {};
    if (is_values) {
      visit_all<true>(walk, sums);
    } else {
      visit_all<false>(walk, sums);
    }
    // K's and V's places are free behind the last barrier.
    put(is_values ? v_tile() : k_tile(), sums, is_values ? matrix::kPUnshift<T> : a_.scores.scale);
    __syncthreads();
    // Asked for again: there are no registers to keep it in.
    const Sequence sequence = a_.sequences.at(part_.index);
    matrix::copy_out<B::kThreads, B::kN>(k_tile(), a_.dk.keys(sequence, part_.head_k), first_key_);
    matrix::copy_out<B::kThreads, B::kN>(v_tile(), a_.dv.keys(sequence, part_.head_k), first_key_);
  }

 private:
  /// Asked for anew where it is needed, so that no addresses are kept in registers meanwhile.
  __device__ static __forceinline__ int warp() { return current_wave<Unit::kWave>(); }
  __device__ __forceinline__ typename B::KeyTile k_tile() const { return {shared_ + Memory::kKAt}; }
  __device__ __forceinline__ typename B::KeyTile v_tile() const { return {shared_ + Memory::kVAt}; }
  __device__ __forceinline__ typename B::DsTile ds_tile(int buffer) const {
    return {shared_ + Memory::kDsAt + buffer * B::kDsTileBytes};
  }
  /// P of block (b, chunk) of the keys of both warps that have them, in the order of the registers.
  __device__ __forceinline__ uint4* p_words(int warp, int buffer, int b, int chunk, int lane) const {
    const int block = (warp % kRoleWarps * kBlocks + b) * kChunks + chunk;
    return reinterpret_cast<uint4*>(shared_ + Memory::kPAt + buffer * Memory::kPBytes) + block * Unit::kWave +
           lane;
  }
  /// The first of a warp's keys in the tile.
  __device__ static __forceinline__ int first_row(int warp) { return warp % kRoleWarps * B::kWaveKeys; }

  /// In step t: the first role has visit t, the second t - 1, and dQ is of t - 2.
  template <bool kIsValues>
  __device__ __forceinline__ void visit_all(const matrix::Walk& walk, Gradients& sums) {
    const int visits = walk.visits();
    Visit visit = walk.first();
    Visit before = visit;
    Visit before_that = visit;
    int stage = 0;  // t % 3
    for (int t = 0; t < visits + 2; ++t) {
      if (visits == 0) break;
      const Visit next = walk.after(visit);
      const int next_stage = stage == 2 ? 0 : stage + 1;
      const int stage_before = stage == 0 ? 2 : stage - 1;
      if (t + 1 < visits) queries_.begin(next, next_stage);
      if (!kIsValues && t > 1) add_dq_of(before_that, t % 2);
      if (kIsValues && t < visits) add_values(visit, walk.is_cut(visit.tile), stage, t % 2, sums);
      if (!kIsValues && t > 0 && t <= visits) {
        if (walk.is_cut(before.tile) && is_hidden(before)) {
          clear_ds((t + 1) % 2);
        } else {
          add_keys(stage_before, (t + 1) % 2, sums);
        }
      }
      if (kIsValues && t > 1) add_dq_of(before_that, t % 2);
      if (t + 1 < visits) queries_.finish(next_stage, {});
      __syncthreads();
      before_that = before;
      before = visit;
      visit = next;
      stage = next_stage;
    }
  }

  __device__ __forceinline__ matrix::SeenBy<B::kN> seen_by() const {
    return matrix::SeenBy<B::kN>(shared_ + Memory::kSeenByAt);
  }
  /// Whether no query of the tile sees any of the warp's keys.
  __device__ __forceinline__ bool is_hidden(const Visit& visit) const {
    return seen_by().hides(first_row(warp()), B::kWaveKeys, visit.tile * B::kM, (visit.tile + 1) * B::kM);
  }
  /// P = 0 where a query does not see a key: a block of keys and of the queries from first_query on.
  __device__ __forceinline__ void hide(const Unit& unit, float (&p)[kSums], int block,
                                       int first_query) const {
    const int warp = this->warp();
    FMHA_BWD_UNROLL
    for (int i = 0; i < Unit::kOwners; ++i) {
      const matrix::Queries queries =
          seen_by()[first_row(warp) + Unit::template owner_row<kBlocks>(block, unit.owner(i))];
      FMHA_BWD_UNROLL
      for (int r = 0; r < kSums; ++r) {
        if (Unit::owner_index(r) == i && !queries.contains(first_query + unit.walked(r))) p[r] = 0.0F;
      }
    }
  }
  /// dS = 0 of the warp's keys.
  __device__ __forceinline__ void clear_ds(int buffer) const {
    const Unit unit(current_lane_of<Unit::kWave>());
    const Operand zeros[kBlocks] = {};
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk)
      unit.store_ds(ds_tile(buffer), zeros, chunk * Unit::kDepth, first_row(warp()));
  }

  /// P of a tile of queries, for the other role too, and dV.
  __device__ __forceinline__ void add_values(const Visit& visit, bool is_cut, int stage, int buffer,
                                             Gradients& dv) const {
    if (is_cut && is_hidden(visit)) return;
    const Unit unit(current_lane_of<Unit::kWave>());
    const int warp = this->warp();
    Scores s = {};
    matrix::add_scores(
        unit, s, [&](int b, int step) { return unit.rows(k_tile(), first_row(warp) + 16 * b, step); },
        queries_.q_tile(stage));
    const float scale_log2 = a_.scores.scale * matrix::kLog2E;
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      float lse[kSums];
      unit.walked_values(queries_.lse_of(stage) + 16 * chunk, lse);
      FMHA_BWD_UNROLL
      for (int b = 0; b < kBlocks; ++b) {
        float(&p)[kSums] = s[b][chunk][0];
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) p[r] = exp2_approximate(p[r] * scale_log2 - lse[r]);
        if (is_cut) hide(unit, p, b, visit.tile * B::kM + 16 * chunk);
      }
      Operand left[kBlocks];
      FMHA_BWD_UNROLL
      for (int b = 0; b < kBlocks; ++b) {
        left[b] = unit.left_of(s[b][chunk]);
        const std::uint32_t(&words)[4] = left[b].words;
        *p_words(warp, buffer, b, chunk, unit.lane()) = make_uint4(words[0], words[1], words[2], words[3]);
      }
      matrix::add_weighted_rows(unit, dv, left, queries_.d_o_tile(stage), chunk * Unit::kDepth, 0);
    }
  }

  /// dS of a tile of queries, and dK.
  __device__ __forceinline__ void add_keys(int stage, int buffer, Gradients& dk) const {
    const Unit unit(current_lane_of<Unit::kWave>());
    const int warp = this->warp();
    Scores dp = {};
    matrix::add_scores(
        unit, dp, [&](int b, int step) { return unit.rows(v_tile(), first_row(warp) + 16 * b, step); },
        queries_.d_o_tile(stage));
    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      float d[kSums];
      unit.walked_values(queries_.d_of(stage) + 16 * chunk, d);
      Operand left[kBlocks];
      FMHA_BWD_UNROLL
      for (int b = 0; b < kBlocks; ++b) {
        const uint4 packed = *p_words(warp, buffer, b, chunk, unit.lane());
        const std::uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
        float(&ds)[1][kSums] = dp[b][chunk];
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) {
          const float p = to_float(T{static_cast<std::uint16_t>(words[r / 2] >> 16 * (r % 2))});
          ds[0][r] = p * (ds[0][r] * matrix::kPUnshift<T> - d[r]);
        }
        left[b] = unit.left_of(ds);
      }
      unit.store_ds(ds_tile(buffer), left, chunk * Unit::kDepth, first_row(warp));
      matrix::add_weighted_rows(unit, dk, left, queries_.q_tile(stage), chunk * Unit::kDepth, 0);
    }
  }

  __device__ __forceinline__ void add_dq_of(const Visit& visit, int buffer) const {
    const Unit unit(current_lane_of<Unit::kWave>());
    const int warp = this->warp();
    const int first_column = warp % B::kDqColumnWaves * B::kDqColumns;
    matrix::add_dq<B>(
        unit, ds_tile(buffer), warp,
        [&](auto& right, int step, int group) {
          unit.template columns<false>(right, k_tile(), Unit::kDepth * step,
                                       first_column + group * 16 * B::kDqGroup);
        },
        dq_acc_ + (visit.member * a_.plane_tiles + visit.tile) * kDqTileFloats);
  }

  __device__ __forceinline__ void put(const typename B::KeyTile& tile, const Gradients& sums,
                                      float factor) const {
    const Unit unit(current_lane_of<Unit::kWave>());
    const int first_row = RoleWalk::first_row(warp());
    FMHA_BWD_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      FMHA_BWD_UNROLL
      for (int group = 0; group < B::kHeadDim / 16; ++group)
        matrix::put_group(unit, tile, first_row + 16 * b, 16 * group, sums[b][group], factor);
    }
  }

  const matrix::Arguments<T>& a_;
  std::byte* const shared_;
  const matrix::BlockPart part_;
  const int seqlen_k_;
  const int first_key_;
  matrix::QueryTiles<B, Memory, true> queries_;
  float* const dq_acc_;  // of the group's first head
};

template <class Traits, class T, int kHeadDim,
          class B = typename Traits::template Backward<T, kHeadDim, true>>
__global__ __launch_bounds__(B::kThreads, B::kWorkgroups) void role_dq_dk_dv_kernel(
    [[maybe_unused]] matrix::Arguments<T> a) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  HIP_DYNAMIC_SHARED(uint4, shared)
  const matrix::BlockPart part(a);
  const auto seqlen_k = static_cast<int>(a.sequences.at(part.index).seqlen_k);
  for (int tile = part.slice; tile * B::kN < seqlen_k; tile += a.slices) {
    if (tile >= a.slices) __syncthreads();
    RoleWalk<B>(a, reinterpret_cast<std::byte*>(shared), part, a.sequences.at(part.index), tile).run();
  }
#endif
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::mma
