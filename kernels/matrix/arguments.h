// What the matrix kernels of one problem are told, and where the accumulator of dQ stands.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/divided_up.h"
#include "kernels/scores.h"
#include "kernels/view.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2 = 0.693147181F;

/// P is rounded to fp16 as 2^15 P: P is 1 at the most, and its small values keep all their bits, also where
/// matrix cores flush subnormal numbers (gfx90a). bf16 has room enough.
template <class T>
inline constexpr int kPShift = std::is_same_v<T, Half> ? 15 : 0;

/// A problem on the device; T is the type of its elements.
template <class T>
struct Arguments {
  View<const T> q;      // [batch, nhead_q, seqlen_q, hdim_q]
  View<const T> k;      // [batch, nhead_k, seqlen_k, hdim_q]
  View<const T> v;      // [batch, nhead_k, seqlen_k, hdim_v]
  View<const T> d_o;    // [batch, nhead_q, seqlen_q, hdim_v]
  View<T> o;            // [batch, nhead_q, seqlen_q, hdim_v]
  View<float> lse;      // [batch, nhead_q, seqlen_q, 1]
  View<const float> d;  // [batch, nhead_q, seqlen_q, 1]
  View<T> dq;           // [batch, nhead_q, seqlen_q, hdim_q]
  View<T> dk;           // [batch, nhead_k, seqlen_k, hdim_q]
  View<T> dv;           // [batch, nhead_k, seqlen_k, hdim_v]
  float* dq_acc;        // [slices, planes, plane_tiles, kM * kHeadDim], see AccPlace
  std::int64_t slice;   // floats from one slice to the next; 0 where all blocks add to the same
  int slices;           // key tiles n, n + slices, .. are one block's
  std::int64_t plane_tiles;
  const float* ds_norms;  // [2], see ds_scale; nullptr where dS is taken as it is
  Scores<T> scores;
  SequenceTable sequences;
  MaskRule mask;
  int batch;
  int nhead_q;
  int nhead_k;
  int group_size;
  bool grouped;
};

/// What dS is multiplied by before it is rounded, and dQ and dK divided by: a power of two with which no |dS|
/// exceeds 2^15. ds_norms has the squares of the largest norms of a row of dO and of a row of V;
/// kernels/cdna/ds_bound.hip has why, and the bound of dP and D.
template <class T>
__device__ __forceinline__ float ds_scale(const Arguments<T>& a) {
  if (a.ds_norms == nullptr) return 1.0F;
  const float bound = 2.0F * a.scores.draws.keep_scale * sqrtf(a.ds_norms[0]) * sqrtf(a.ds_norms[1]);
  if (!(bound > 0.0F && bound < INFINITY)) return 1.0F;
  const float exponent = 15.0F - ceilf(log2f(bound));
  return exp2f(fminf(fmaxf(exponent, -15.0F), 60.0F));
}

/// The accumulator of dQ has a plane of tiles of kM queries for each head of each batch index. In group mode
/// the sequences share the planes of batch index 0: sequence n begins at tile first_q / kM + n, which leaves
/// each of the sequences before it its last, partial tile.
struct AccPlace {
  /// Tiles of a plane that holds `rows` rows of `sequences` sequences.
  static std::int64_t plane_tiles(std::int64_t rows, std::int64_t sequences, int tile_rows) {
    return sequences == 1 ? divided_up(rows, tile_rows) : rows / tile_rows + sequences;
  }

  /// Index of the first tile of a query head of a sequence, whose own index is `index`.
  template <class T>
  __device__ static __forceinline__ std::int64_t first_tile(const Arguments<T>& a, const Sequence& sequence,
                                                            int index, int head, int tile_rows) {
    const std::int64_t plane = sequence.batch * a.nhead_q + head;
    return plane * a.plane_tiles + (a.grouped ? sequence.first_q / tile_rows + index : 0);
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
