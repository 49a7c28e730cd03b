// What stage 2 does to a tile of scores between its products: P of S while dP is multiplied, and dS of dP.
//
// Plain:  P = exp2(scale_log2 s - LSE),  dS = P (dP - D)
//
// Soft-cap, ALiBi and dropout (kernels/scores.h defines them), with s = q.k:
//
//   r = 1 / (1 + exp2(bend s)),  softcap(x) = c (1 - 2 r),  1 - (softcap(x) / c)^2 = 4 r (1 - r)
//   P' = exp2(-bent r - |slope (i + diagonal - j)| - LSE'),  s' = P' r (1 - r)    (P' r (1 - r) is P' if not
//   capped) dX' = s' (kept ? dP : 0) - s' D'                                              (the bias's dS is
//   not asked for)
//
// LSE' and D' come from stage 1 with all that is the same for a row: LSE' = LSE - c - shift and D' = (1 - p)
// D, in base 2. So P' = 2^shift P, which is packed to 16 bits as it is where it is kept, and dV is multiplied
// by 2^-shift / (1 - p) at last, dK and dQ by their factor (Factors). The shift takes in the 4 of the
// soft-cap and, to within sqrt 2, 1 / (1 - p), so that dX' is as large as dX: fp16 has no bits to spare.
//
// Cost for each element, beside the plain one's exponential and three operations: soft-cap two on the unit of
// exponentials (exp2 and half a reciprocal: one serves two elements) and eight others; ALiBi one and a half;
// dropout some fifteen, nearly all of them Philox's. A call of Philox gives four keys of a query, which four
// lanes have: each lane makes a quarter of the calls and they exchange the bits. That happens before the
// tile's first product, when a warpgroup waits for the other's anyway and registers are free. What P was is
// no longer in the registers when dP comes under a soft-cap, so P is packed early there.
#pragma once

#include <matrix_core.h>

#include <cstdint>

#include "base/dropout.h"
#include "kernels/hopper/factors.h"
#include "kernels/hopper/tiling.h"
#include "kernels/hopper/walk.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// P and dS of a warpgroup's tile, packed: the left operands of dV and dK.
template <int kM>
using Packed = std::uint32_t[kM / 16][4];

/// Scores that are scale Q K^T alone. Every variant has these functions; `rows` are those of a thread's
/// columns of the scores, sum 4 j + 2 r + e of s is query 8 j + e and key 8 r from the thread's first
/// (ptx/wgmma.h).
template <class T, int kHeadDim>
class PlainScores {
  static constexpr int kM = Tiling<kHeadDim>::kM;

 public:
  using Arguments = DqDkDvArguments<kHeadDim>;
  static constexpr bool kNeedsHead = false;

  /// Before the tile's first product, when its stage is full.
  __device__ __forceinline__ PlainScores(const Arguments& /*a*/, const SharedMemory<kHeadDim>& /*shared*/,
                                         int /*stage*/, int /*first_key*/) {}

  /// What dV is multiplied by at last.
  __device__ static __forceinline__ float dv_factor(const Arguments& /*a*/) { return 1.0F; }

  /// P in the place of S. `rows` are LSE's.
  __device__ __forceinline__ void exponentiate(const Arguments& a, float (&s)[kM / 2],
                                               const float2 (&rows)[kM / 8], Packed<kM>& /*p*/) const {
    FMHA_BWD_UNROLL
    for (int j = 0; j < kM / 8; ++j) {
      s[4 * j] = exp2_approximate(s[4 * j] * a.scale_log2 - rows[j].x);
      s[4 * j + 1] = exp2_approximate(s[4 * j + 1] * a.scale_log2 - rows[j].y);
      s[4 * j + 2] = exp2_approximate(s[4 * j + 2] * a.scale_log2 - rows[j].x);
      s[4 * j + 3] = exp2_approximate(s[4 * j + 3] * a.scale_log2 - rows[j].y);
    }
  }

  /// After that, for an element that the mask hides.
  __device__ __forceinline__ void hide(float (&s)[kM / 2], int i, Packed<kM>& /*p*/) const { s[i] = 0.0F; }

  /// P and dS, packed, of P and dP. `rows` are D's.
  __device__ __forceinline__ void differentiate(const Arguments& /*a*/, const float (&s)[kM / 2],
                                                const float (&dp)[kM / 2], const float2 (&rows)[kM / 8],
                                                Packed<kM>& p, Packed<kM>& ds) const {
    FMHA_BWD_UNROLL
    for (int j = 0; j < kM / 8; ++j) {
      const float ds0 = s[4 * j] * (dp[4 * j] - rows[j].x);
      const float ds1 = s[4 * j + 1] * (dp[4 * j + 1] - rows[j].y);
      const float ds2 = s[4 * j + 2] * (dp[4 * j + 2] - rows[j].x);
      const float ds3 = s[4 * j + 3] * (dp[4 * j + 3] - rows[j].y);
      p[j / 2][j % 2 * 2] = pack<T>(s[4 * j], s[4 * j + 1]);
      p[j / 2][j % 2 * 2 + 1] = pack<T>(s[4 * j + 2], s[4 * j + 3]);
      ds[j / 2][j % 2 * 2] = pack<T>(ds0, ds1);
      ds[j / 2][j % 2 * 2 + 1] = pack<T>(ds2, ds3);
    }
  }
};

/// What may happen to scores: a variant has one of these, or all, of which the problem has some.
inline constexpr unsigned kSoftcap = 1;
inline constexpr unsigned kAlibi = 2;
inline constexpr unsigned kDropout = 4;
inline constexpr unsigned kAnyScores = kSoftcap | kAlibi | kDropout;

template <int kHeadDim>
struct ScoredArguments : DqDkDvArguments<kHeadDim> {
  const float* slopes;  // [nhead_q]; nullptr without ALiBi
  float bend;           // 2 scale log2 e / c
  float bent;           // 2 c log2 e
  float dv_factor;
  DropoutDraws draws;
  bool bends;
  bool drops;
};

/// Scores of one tile with kFeatures, of a thread of one warpgroup.
template <class T, int kHeadDim, unsigned kFeatures>
class FeaturedScores {
  static constexpr int kM = Tiling<kHeadDim>::kM;
  static constexpr bool kHasAll = kFeatures == kAnyScores;
  static constexpr bool kBends = (kFeatures & kSoftcap) != 0;
  static constexpr bool kSlopes = (kFeatures & kAlibi) != 0;
  static constexpr bool kDrops = (kFeatures & kDropout) != 0;

 public:
  using Arguments = ScoredArguments<kHeadDim>;
  static constexpr bool kNeedsHead = true;

  /// `first_key` is that of the warpgroup.
  __device__ __forceinline__ FeaturedScores(const Arguments& a, const SharedMemory<kHeadDim>& shared,
                                            int stage, int first_key) {
    const int thread = thread_of_warpgroup();
    const int lane = thread % 32;
    const int head = shared.head[stage];
    const int query = shared.first_query[stage] + 2 * (lane % 4);
    const int first_of_warp = first_key + thread / 32 * 16;
    if constexpr (kSlopes) {
      slope_ = a.slopes == nullptr ? 0.0F : kLog2E * __ldg(a.slopes + head % (a.nhead_k * a.group_size));
      distance_ =
          slope_ * static_cast<float>(query + static_cast<int>(a.mask.diagonal()) - first_of_warp - lane / 4);
    }
    if constexpr (kDrops) {
      if (kHasAll && !a.drops) {
        FMHA_BWD_UNROLL
        for (int w = 0; w < kM / 64; ++w) kept_[w] = ~0U;
      } else {
        draw(a.draws, head, query, first_of_warp / 4 + lane / 16, lane / 4 % 4);
      }
    }
  }

  __device__ static __forceinline__ float dv_factor(const Arguments& a) { return a.dv_factor; }

  /// P' r (1 - r) in the place of S.
  __device__ __forceinline__ void exponentiate(const Arguments& a, float (&s)[kM / 2],
                                               const float2 (&rows)[kM / 8], Packed<kM>& p) const {
    if (kBends && (!kHasAll || a.bends)) {
      FMHA_BWD_UNROLL
      for (int i = 0; i < kM / 2; i += 2) {
        const float r0 = plus_one_exp2(s[i] * a.bend);
        const float r1 = plus_one_exp2(s[i + 1] * a.bend);
        const float inverse = reciprocal(r0 * r1);
        s[i] = inverse * r1;
        s[i + 1] = inverse * r0;
        const float p0 = exp2_approximate(s[i] * -a.bent - subtrahend(rows, i));
        const float p1 = exp2_approximate(s[i + 1] * -a.bent - subtrahend(rows, i + 1));
        s[i] = p0 * (s[i] - s[i] * s[i]);
        s[i + 1] = p1 * (s[i + 1] - s[i + 1] * s[i + 1]);
        word(p, i) = pack<T>(kept(i, p0), kept(i + 1, p1));
      }
    } else {
      FMHA_BWD_UNROLL
      for (int i = 0; i < kM / 2; i += 2) {
        s[i] = exp2_approximate(s[i] * a.scale_log2 - subtrahend(rows, i));
        s[i + 1] = exp2_approximate(s[i + 1] * a.scale_log2 - subtrahend(rows, i + 1));
        if (kBends) word(p, i) = pack<T>(kept(i, s[i]), kept(i + 1, s[i + 1]));
      }
    }
  }

  __device__ __forceinline__ void hide(float (&s)[kM / 2], int i, Packed<kM>& p) const {
    s[i] = 0.0F;
    if (kBends) word(p, i) &= i % 2 == 0 ? 0xffff0000U : 0xffffU;
  }

  __device__ __forceinline__ void differentiate(const Arguments& /*a*/, const float (&s)[kM / 2],
                                                const float (&dp)[kM / 2], const float2 (&rows)[kM / 8],
                                                Packed<kM>& p, Packed<kM>& ds) const {
    FMHA_BWD_UNROLL
    for (int i = 0; i < kM / 2; i += 2) {
      const float2 d = rows[i / 4];
      if constexpr (kDrops) {
        const float s0 = kept(i, s[i]);
        const float s1 = kept(i + 1, s[i + 1]);
        word(ds, i) = pack<T>(s0 * dp[i] - s[i] * d.x, s1 * dp[i + 1] - s[i + 1] * d.y);
        if (!kBends) word(p, i) = pack<T>(s0, s1);
      } else {
        word(ds, i) = pack<T>(s[i] * (dp[i] - d.x), s[i + 1] * (dp[i + 1] - d.y));
        if (!kBends) word(p, i) = pack<T>(s[i], s[i + 1]);
      }
    }
  }

 private:
  /// The word of elements i and i + 1, for even i.
  __device__ static __forceinline__ std::uint32_t& word(Packed<kM>& packed, int i) {
    return packed[i / 8][i / 2 % 4];
  }

  /// 1 + 2^x; 1 + 2^60 beyond, so that two can be multiplied.
  __device__ static __forceinline__ float plus_one_exp2(float x) {
    return 1.0F + exp2_approximate(fminf(x, 60.0F));
  }
  __device__ static __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }

  /// |slope (i + diagonal - j)| + LSE'.
  __device__ __forceinline__ float subtrahend(const float2 (&rows)[kM / 8], int i) const {
    const float row = i % 2 == 0 ? rows[i / 4].x : rows[i / 4].y;
    if constexpr (!kSlopes) return row;
    const int further = i / 4 * 8 + i % 2 - i / 2 % 2 * 8;
    return row + fabsf(distance_ + slope_ * static_cast<float>(further));
  }

  /// x where element i is kept, else 0.
  __device__ __forceinline__ float kept(int i, float x) const {
    if constexpr (!kDrops) return x;
    return (kept_[i / 32] >> bit_of(i) & 1U) != 0 ? x : 0.0F;
  }
  /// Of element i, in word i / 32: query 8 j + e, key 8 r stand at bit 8 (j % 4) + 4 (j / 4 % 2) + 2 r + e.
  __device__ static __forceinline__ constexpr int bit_of(int i) {
    return i / 4 % 4 * 8 + i / 16 % 2 * 4 + i % 4;
  }

  /// Fills kept_. The four lanes whose keys are of one quad of Philox, `sharer` 0 to 3 among them, draw the
  /// tile's queries 8 j, j % 4 = sharer, for all four. `query` and `quad` are of the thread's first element.
  __device__ __forceinline__ void draw(const DropoutDraws& draws, int head, int query, int quad, int sharer) {
    const auto limit = static_cast<std::uint32_t>(draws.threshold - 1);
    FMHA_BWD_UNROLL
    for (int w = 0; w < kM / 64; ++w) {
      std::uint32_t drawn = 0;  // byte n is for sharer n
      FMHA_BWD_UNROLL
      for (int c = 0; c < 8; ++c) {
        const PhiloxWords integers =
            draws.quad(head, query + 8 * sharer + 64 * w + c / 4 * 32 + c % 2, quad + c / 2 % 2 * 2);
        FMHA_BWD_UNROLL
        for (int n = 0; n < 4; ++n) {
          if (integers.words[n] <= limit) drawn |= 1U << (8 * n + c);
        }
      }
      kept_[w] = exchanged(drawn, sharer);
    }
  }

  /// Byte n of the result is byte `sharer` of sharer n's: a transposition of 4 x 4 bytes.
  __device__ static __forceinline__ std::uint32_t exchanged(std::uint32_t drawn, int sharer) {
    const std::uint32_t two = __shfl_xor(drawn, 8);
    const std::uint32_t halves = __byte_perm(drawn, two, sharer < 2 ? 0x5410 : 0x3276);
    const std::uint32_t one = __shfl_xor(halves, 4);
    return __byte_perm(halves, one, sharer % 2 == 0 ? 0x6240 : 0x3715);
  }

  float slope_;                  // of the head, times log2 e
  float distance_;               // slope (i + diagonal - j) of the thread's first element
  std::uint32_t kept_[kM / 64];  // a bit for each element
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
