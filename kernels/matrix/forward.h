// Attention forward on matrix cores: the O and LSE that the backward takes as inputs.
//
//   P = softmax(mask(S)),  O = keep P V,  LSE = log sum exp of a row's visible scores and its head's sink
//
// with S and keep from kernels/scores.h; S = scale Q K^T and keep = 1 in a plain problem.
//
// Tiling: a workgroup of four waves owns 64 queries of one head, 16 a wave, and walks over the tiles of 32
// keys that any of them sees, with a running maximum and sum of each row (online softmax; Milakov and
// Gimelshein, arXiv:1805.02867). Here a query is the unit's owner row, and a key a walked row: P, packed, is
// the left operand of P V as it is. O stays in registers; Q, K and V are in shared memory.
//
// Budget at hdim 256: 128 sums of O and 16 of S a lane of 32; 64 KB of shared memory.
//
// Why it is fast enough: it is not timed. Masks cost little, tiles that nobody sees are skipped, and the
// longest rows of a causal problem start first.
#pragma once

#include "kernels/matrix/arguments.h"
#include "kernels/matrix/forward_tiling.h"
#include "kernels/matrix/store.h"
#include "kernels/matrix/walk.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

/// The running softmax of the rows that a lane has pairs of.
template <class Unit>
struct RunningSoftmax {
  float maximum[Unit::kOwners];  // of the scores, times log2 e
  float sum[Unit::kOwners];      // of this lane's share of exp, by the maximum, times 2^shift

  __device__ __forceinline__ RunningSoftmax() {
    FMHA_BWD_UNROLL
    for (int i = 0; i < Unit::kOwners; ++i) {
      maximum[i] = -INFINITY;
      sum[i] = 0.0F;
    }
  }
};

template <class Traits, class T, int kHeadDim, class F = Forward<typename Traits::template Unit<T>, kHeadDim>>
__global__ __launch_bounds__(F::kThreads, 1) void forward_kernel(Arguments<T> a) {
  using Unit = typename F::Unit;
  using Operand = typename Unit::Operand;
  constexpr int kSums = Unit::kSums;
  constexpr int kOwners = Unit::kOwners;
  HIP_DYNAMIC_SHARED(uint4, dynamic)
  auto* const shared = reinterpret_cast<std::byte*>(dynamic);
  const typename F::Rows q_tile = {shared};
  const typename F::Rows k_tile = {shared + F::kKAt};
  const typename F::Rows v_tile = {shared + F::kVAt};

  const auto heads = static_cast<unsigned>(a.batch * a.nhead_q);
  const int index = static_cast<int>(blockIdx.x % heads) / a.nhead_q;
  const int head = static_cast<int>(blockIdx.x % heads) % a.nhead_q;
  const Sequence sequence = a.sequences.at(index);
  const auto seqlen_q = static_cast<int>(sequence.seqlen_q);
  const auto seqlen_k = static_cast<int>(sequence.seqlen_k);
  // The last rows see the most keys.
  const int first_query = ((seqlen_q + F::kM - 1) / F::kM - 1 - static_cast<int>(blockIdx.x / heads)) * F::kM;
  if (first_query < 0) return;
  const int end_query = first_query + F::kM < seqlen_q ? first_query + F::kM : seqlen_q;
  const Mask mask(a.mask, seqlen_q, seqlen_k);
  const int wave = uniform(static_cast<int>(threadIdx.x) / Unit::kWave);
  const auto query_of = [&](int row) { return first_query + 16 * wave + row; };

  const auto scales = scales_of<Unit>(a);
  const float to_qk = 1.0F / (scales.q * scales.k);
  const auto fresh_unit = [] { return Unit(current_lane_of<Unit::kWave>()); };
  Queries sees[kOwners];  // keys
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwners; ++i) {
    const int query = query_of(fresh_unit().owner(i));
    if (query < seqlen_q) sees[i] = Queries(mask.visible_keys(query));
  }

  {
    TileLoader<F, F::kM> q_loader;
    q_loader.begin(q_tile, a.q.queries(sequence, head), first_query);
    q_loader.finish(q_tile, scales.q);
  }
  const auto k = a.k.keys(sequence, head / a.group_size);
  const auto v = a.v.keys(sequence, head / a.group_size);
  TileLoader<F, F::kN> loader;
  RunningSoftmax<Unit> softmax;
  float o[F::kGroups][F::kGroup][kSums] = {};

  const Queries keys(mask.keys_of({first_query, end_query}));
  const int begin_key = keys.end > keys.begin ? keys.begin / F::kN * F::kN : keys.end;
  for (int first_key = begin_key; first_key < keys.end; first_key += F::kN) {
    loader.begin(k_tile, k, first_key);
    loader.finish(k_tile, scales.k);
    loader.begin(v_tile, v, first_key);
    loader.finish(v_tile, scales.v);
    Unit::commit_loads();
    Unit::wait_for_loads();
    __syncthreads();

    Unit unit = fresh_unit();
    float products[F::kChunks][F::kDepthBlocks][kSums] = {};
    const auto at = [&](int w) -> float(&)[kSums] {
      return products[w / F::kDepthBlocks][w % F::kDepthBlocks];
    };
    FMHA_BWD_UNROLL
    for (int step = 0; step < F::kSteps; ++step) {
      const Operand queries = unit.rows(q_tile, 16 * wave, step);
      FMHA_BWD_UNROLL
      for (int w = 0; w < F::kBlocks; ++w) {
        Unit::multiply_scores(at(w), queries, unit.walked_rows(k_tile, 16 * w, step));
        Unit::finish_here(at(w));
      }
    }

    std::uint32_t dropped = 0;  // a bit a pair
    const auto key_of = [&](int w, int r) { return first_key + 16 * w + unit.walked(r); };
    if (a.scores.plain) {
      FMHA_BWD_UNROLL
      for (int w = 0; w < F::kBlocks; ++w) {
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) {
          at(w)[r] *= a.scores.scale * kLog2E * to_qk;
        }
      }
    } else {
      const HeadScores<T> scores = a.scores.of(HeadPlace(index, head, a.mask, seqlen_q, seqlen_k));
      FMHA_BWD_UNROLL
      for (int w = 0; w < F::kBlocks; ++w) {
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) {
          const int i = Unit::owner_index(r);
          if (!sees[i].contains(key_of(w, r))) continue;
          const int query = query_of(unit.owner(i));
          at(w)[r] = scores.score(at(w)[r] * to_qk, query, key_of(w, r)) * kLog2E;
          if (scores.keep(query, key_of(w, r)) == 0.0F) dropped |= 1U << (w * kSums + r);
        }
      }
    }

    float shrink[kOwners];
    FMHA_BWD_UNROLL
    for (int i = 0; i < kOwners; ++i) {
      float top = -INFINITY;
      FMHA_BWD_UNROLL
      for (int w = 0; w < F::kBlocks; ++w) {
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) {
          if (Unit::owner_index(r) != i) continue;
          if (!sees[i].contains(key_of(w, r))) at(w)[r] = -INFINITY;
          top = fmaxf(top, at(w)[r]);
        }
      }
      top = unit.combine_walked(top, [](float x, float y) { return fmaxf(x, y); });
      top = fmaxf(top, softmax.maximum[i]);
      const float base = top == -INFINITY ? 0.0F : top;  // no visible key so far
      shrink[i] = exp2_approximate(softmax.maximum[i] - base);
      softmax.maximum[i] = top;
      float added = 0.0F;
      FMHA_BWD_UNROLL
      for (int w = 0; w < F::kBlocks; ++w) {
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) {
          if (Unit::owner_index(r) != i) continue;
          at(w)[r] = exp2_approximate(at(w)[r] - base + static_cast<float>(kPShift<T>));
          added += at(w)[r];
          if ((dropped >> (w * kSums + r) & 1U) != 0) at(w)[r] = 0.0F;
        }
      }
      softmax.sum[i] = softmax.sum[i] * shrink[i] + added;
    }
    float shrink_of[kSums];
    FMHA_BWD_UNROLL
    for (int r = 0; r < kSums; ++r) shrink_of[r] = unit.of_row(shrink, r);
    FMHA_BWD_UNROLL
    for (int group = 0; group < F::kGroups; ++group) {
      FMHA_BWD_UNROLL
      for (int t = 0; t < F::kGroup; ++t) {
        FMHA_BWD_UNROLL
        for (int r = 0; r < kSums; ++r) o[group][t][r] *= shrink_of[r];
      }
    }

    FMHA_BWD_UNROLL
    for (int chunk = 0; chunk < F::kChunks; ++chunk) {
      unit = fresh_unit();
      const Operand p = unit.left_of(products[chunk]);
      FMHA_BWD_UNROLL
      for (int group = 0; group < F::kGroups; ++group) {
        Operand right[F::kGroup];
        unit.template columns<true>(right, v_tile, chunk * Unit::kDepth, group * 16 * F::kGroup);
        FMHA_BWD_UNROLL
        for (int t = 0; t < F::kGroup; ++t) {
          Unit::multiply(o[group][t], p, right[t]);
          Unit::finish_here(o[group][t]);
        }
      }
    }
    __syncthreads();
  }

  Unit::commit_loads();  // Q's, where no key is seen
  Unit::wait_for_loads();
  const Unit unit = fresh_unit();
  float factor[kOwners];
  const auto lse = a.lse.queries(sequence, head);
  FMHA_BWD_UNROLL
  for (int i = 0; i < kOwners; ++i) {
    float sum = unit.combine_walked(softmax.sum[i], [](float x, float y) { return x + y; });
    float maximum = softmax.maximum[i];
    float shrink = 1.0F;
    if (a.scores.sink != nullptr) {
      const float sink = a.scores.sink[head] * kLog2E;
      const float before = maximum;
      maximum = fmaxf(before, sink);
      const float base = maximum == -INFINITY ? 0.0F : maximum;
      shrink = exp2_approximate(before - base);
      sum = sum * shrink + exp2_approximate(sink - base + static_cast<float>(kPShift<T>));
    }
    factor[i] =
        sum > 0.0F ? shrink * a.scores.draws.keep_scale / (sum * scales.v) : (sum == 0.0F ? 0.0F : NAN);
    const int query = query_of(unit.owner(i));
    if (unit.walked(0) == 0 && query < seqlen_q) {
      // The shift leaves the sum, not the logarithm: a small LSE would lose its last bits.
      constexpr float kUnshift = 1.0F / static_cast<float>(1 << kPShift<T>);
      *lse.row(query) = sum == 0.0F ? -INFINITY : maximum * kLn2 + logf(sum * kUnshift);
    }
  }
  float factor_of[kSums];
  FMHA_BWD_UNROLL
  for (int r = 0; r < kSums; ++r) factor_of[r] = unit.of_row(factor, r);
  FMHA_BWD_UNROLL
  for (int group = 0; group < F::kGroups; ++group) {
    store_group(
        unit, a.o.queries(sequence, head), [&](int r) { return query_of(unit.row(r)); },
        group * 16 * F::kGroup, o[group], [&](int r) { return factor_of[r]; });
  }
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
