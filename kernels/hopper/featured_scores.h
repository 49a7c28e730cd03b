// What stage 2 does to a tile of scores between its products: P of S while dP is multiplied, and dS of dP.
//
// Plain:  P = exp2(scale_log2 s - LSE),  dS = P (dP - D)
//
// Soft-cap, ALiBi and dropout (kernels/scores.h defines them), with s = q.k:
//
//   r = 1 / (1 + exp2(bend s)),  so that  softcap(x) = c (1 - 2 r),  1 - (softcap(x) / c)^2 = 4 r (1 - r)
//   P' = exp2(-bent r - |slope (i + diagonal - j)| - LSE')
//   B = P' r (1 - r);  P' where there is no soft-cap
//   dX' = B (kept ? dP : 0) - B D'
//
// LSE' and D' come from stage 1 with all that is the same for a row: LSE' = LSE - c - shift in base 2, and
// D' = (1 - p) D. So P' = 2^shift P, which is packed to 16 bits where it is kept; dV is multiplied by
// 2^-shift / (1 - p) at last, and dK and dQ by a factor too (factors.h). The shift takes in the 4 of the
// soft-cap and, to within sqrt 2, 1 / (1 - p), so that dX' is as large as dX: fp16 has no bits to spare.
//
// With a soft-cap r stands in S's place until dP is there, and P' is computed then: there are no registers
// for P' and B at once.
//
// Cost for each element, beside the plain one's exponential and three operations: soft-cap one and a half on
// the unit of exponentials (exp2, and a reciprocal that serves two elements) and eight others; ALiBi one and
// a half; dropout some ten, most of them Philox's (draws.h). That is drawn before the tile's first product,
// when registers are free.
#pragma once

#include <matrix_core.h>

#include <cstdint>
#include <type_traits>

#include "kernels/hopper/draws.h"
#include "kernels/hopper/factors.h"
#include "kernels/hopper/ptx/warpgroup.h"
#include "kernels/hopper/scores.h"
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
  static constexpr int kKeyStages = Tiling<kHeadDim>::kKeyStages;  // of K, that are used
  static constexpr bool kErrands = !Tiling<kHeadDim>::kWide;       // of walks, see errands.h
  static constexpr bool kSkips = kHeadDim == 128;  // visits that the second warpgroup sees nothing in
  static constexpr bool kNeedsHead = false;
  static constexpr bool kKeepsThread = true;

  /// Before the tile's first product, when its stage is full.
  __device__ __forceinline__ PlainScores(const Arguments& /*a*/, const SharedMemory<kHeadDim>& /*shared*/,
                                         const Walk& /*walk*/, int /*stage*/, int /*first_key*/) {}

  /// Whether the constructor takes its time for random numbers.
  __device__ static __forceinline__ bool draws(const Arguments& /*a*/) { return false; }

  /// What dV is multiplied by at last.
  __device__ static __forceinline__ float dv_factor(const Arguments& /*a*/) { return 1.0F; }

  /// P in the place of S. `rows` are LSE's.
  __device__ __forceinline__ void exponentiate(const Arguments& a, float (&s)[kM / 2],
                                               const float2 (&rows)[kM / 8]) const {
    hopper::exponentiate<kM>(s, rows, a.scale_log2);
  }

  /// What an element that the mask hides is after that.
  __device__ __forceinline__ float hidden(const Arguments& /*a*/) const { return 0.0F; }

  /// P and dS, packed, of P and dP. `rows` are D's; `lse` and `d` point to the first of LSE's and D's in
  /// shared memory.
  __device__ static __forceinline__ void differentiate(const Arguments& /*a*/, const float (&s)[kM / 2],
                                                       const float (&dp)[kM / 2], const float* /*lse*/,
                                                       const float* /*d*/, const float2 (&rows)[kM / 8],
                                                       Packed<kM>& p, Packed<kM>& ds) {
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
  int diagonal;         // query i stands at key i + diagonal
  float bend;           // 2 scale log2 e / c
  float bent;           // 2 c log2 e
  float dv_factor;
  TileDraws draws;
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
  // With draws hdim 128 has no registers for the addresses of two.
  static constexpr int kKeyStages = kDrops && kHeadDim == 128 ? 1 : Tiling<kHeadDim>::kKeyStages;
  static constexpr bool kErrands = false;
  static constexpr bool kSkips = kHeadDim == 128 && !kDrops;
  static constexpr bool kNeedsHead = true;
  static constexpr bool kKeepsThread = kHeadDim == 128 && !kDrops;  // others have no register left for it

  /// `first_key` is that of the warpgroup.
  __device__ __forceinline__ FeaturedScores(const Arguments& a, const SharedMemory<kHeadDim>& shared,
                                            const Walk& walk, int stage, int first_key) {
    const int thread = kKeepsThread ? static_cast<int>(threadIdx.x) % kWarpgroup : thread_of_warpgroup();
    const int lane = thread % 32;
    const int head = shared.head[stage];
    const int first_query = shared.first_query[stage];
    const int first_of_warp = first_key + thread / 32 * 16;
    if constexpr (kSlopes) {
      const int head_q = head - walk.batch * a.nhead_q;
      const int query = first_query + 2 * (lane % 4);
      slope_ = a.slopes == nullptr ? 0.0F : kLog2E * __ldg(a.slopes + head_q);
      distance_ = slope_ * static_cast<float>(query + a.diagonal - first_of_warp - lane / 4);
    }
    if constexpr (kDrops) {
      FMHA_BWD_UNROLL
      for (int w = 0; w < kM / 64; ++w) dropped_[w] = 0;
      if (!draws(a)) return;
      FMHA_BWD_UNROLL
      for (int w = 0; w < kM / 64; ++w) {
        dropped_[w] = a.draws.dropped(head, first_query + 64 * w, first_of_warp, lane);
        asm volatile("" : "+r"(dropped_[w]));
      }
    }
  }

  __device__ static __forceinline__ bool draws(const Arguments& a) { return kDrops && (!kHasAll || a.drops); }

  __device__ static __forceinline__ float dv_factor(const Arguments& a) { return a.dv_factor; }

  /// r in the place of S, or P' without a soft-cap.
  __device__ __forceinline__ void exponentiate(const Arguments& a, float (&s)[kM / 2],
                                               const float2 (&rows)[kM / 8]) const {
    if (bends(a)) {
      __syncwarp();  // for the compiler, which begins earlier without it, and spills
      FMHA_BWD_UNROLL
      for (int i = 0; i < kM / 2; i += 2) {
        const float over0 = plus_one_exp2(s[i] * a.bend);
        const float over1 = plus_one_exp2(s[i + 1] * a.bend);
        const float inverse = reciprocal(over0 * over1);
        s[i] = inverse * over1;
        s[i + 1] = inverse * over0;
      }
    } else {
      FMHA_BWD_UNROLL
      for (int i = 0; i < kM / 2; ++i) {
        s[i] = exp2_approximate(s[i] * a.scale_log2 - subtrahend(i, of_element(rows[i / 4], i)));
      }
    }
  }

  /// Such an r that P' and r (1 - r) P' are 0, or such a P'.
  __device__ __forceinline__ float hidden(const Arguments& a) const { return bends(a) ? 0x1p62F : 0.0F; }

  /// With a soft-cap or dropout D's rows are read where they are wanted: there are no registers for all.
  __device__ __forceinline__ void differentiate(const Arguments& a, const float (&s)[kM / 2],
                                                const float (&dp)[kM / 2], const float* lse, const float* d,
                                                const float2 (&rows)[kM / 8], Packed<kM>& p,
                                                Packed<kM>& ds) const {
    if constexpr (!kBends && !kDrops) {
      PlainScores<T, kHeadDim>::differentiate(a, s, dp, lse, d, rows, p, ds);
    } else if (bends(a)) {
      FMHA_BWD_UNROLL
      for (int i = 0; i < kM / 2; i += 4) {
        const float2 row = *reinterpret_cast<const float2*>(lse + 2 * i);
        const float2 row_d = *reinterpret_cast<const float2*>(d + 2 * i);
        FMHA_BWD_UNROLL
        for (int e = i; e < i + 4; e += 2) {
          const float p0 = bent(a, e, s[e], row.x);
          const float p1 = bent(a, e + 1, s[e + 1], row.y);
          const float bent0 = p0 * slope_of_bend(s[e]);
          const float bent1 = p1 * slope_of_bend(s[e + 1]);
          word(p, e) = pack<T>(kept(e, p0), kept(e + 1, p1));
          word(ds, e) = pack<T>(ds_of(kept(e, bent0), bent0, dp[e], row_d.x),
                                ds_of(kept(e + 1, bent1), bent1, dp[e + 1], row_d.y));
        }
      }
    } else {
      FMHA_BWD_UNROLL
      for (int i = 0; i < kM / 2; i += 2) {
        const float2 row_d = *reinterpret_cast<const float2*>(d + 2 * (i - i % 4));
        const float kept0 = kept(i, s[i]);
        const float kept1 = kept(i + 1, s[i + 1]);
        word(p, i) = pack<T>(kept0, kept1);
        word(ds, i) = pack<T>(ds_of(kept0, s[i], dp[i], row_d.x), ds_of(kept1, s[i + 1], dp[i + 1], row_d.y));
      }
    }
  }

 private:
  __device__ static __forceinline__ bool bends(const Arguments& a) { return kBends && (!kHasAll || a.bends); }

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

  /// LSE' + |slope (i + diagonal - j)| of element i.
  __device__ __forceinline__ float subtrahend(int i, float lse) const {
    if constexpr (!kSlopes) return lse;
    const int further = i / 4 * 8 + i % 2 - i / 2 % 2 * 8;
    return lse + fabsf(distance_ + slope_ * static_cast<float>(further));
  }
  /// P' of element i, whose r is `r`.
  __device__ __forceinline__ float bent(const Arguments& a, int i, float r, float lse) const {
    return exp2_approximate(r * -a.bent - subtrahend(i, lse));
  }
  /// r (1 - r)
  __device__ static __forceinline__ float slope_of_bend(float r) { return r - r * r; }

  /// dX', where `kept_p` is p or 0.
  __device__ static __forceinline__ float ds_of(float kept_p, float p, float dp, float d) {
    return kDrops ? kept_p * dp - p * d : p * (dp - d);
  }

  __device__ static __forceinline__ float of_element(float2 rows, int i) {
    return i % 2 == 0 ? rows.x : rows.y;
  }
  /// x, or 0 where element i is dropped. One instruction makes seven bits of a byte predicates (R2P). There
  /// are no more predicates: with an eighth, hdim 64 spills. That bit becomes a mask.
  __device__ __forceinline__ float kept(int i, float x) const {
    if constexpr (!kDrops) return x;
    const std::uint32_t dropped = dropped_[i / 32];
    if (i % 8 < 7) return (dropped >> (i % 32) & 1U) != 0 ? 0.0F : x;
    return __uint_as_float(__float_as_uint(x) & ~sign_of_byte(dropped, i % 32 / 8));
  }

  /// All bits as the highest of byte `byte`.
  __device__ static __forceinline__ std::uint32_t sign_of_byte(std::uint32_t x, int byte) {
    std::uint32_t mask;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(mask) : "r"(x), "r"(0x8888 + 0x1111 * byte));
    return mask;
  }

  float slope_;                     // of the head, times log2 e
  float distance_;                  // slope (i + diagonal - j) of the thread's first element
  std::uint32_t dropped_[kM / 64];  // bit i % 32 of word i / 32 is element i's
};

template <class T, int kHeadDim, unsigned kFeatures>
using ScoresOf =
    std::conditional_t<kFeatures == 0, PlainScores<T, kHeadDim>, FeaturedScores<T, kHeadDim, kFeatures>>;

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
