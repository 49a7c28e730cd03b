// What the matrix kernels of one problem are told, and where the accumulator of dQ stands.
#pragma once

#include <matrix_core.h>

#include <cstdint>
#include <type_traits>

#include "base/divided_up.h"
#include "kernels/matrix/input_scales.h"
#include "kernels/scores.h"
#include "kernels/view.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix {

inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2 = 0.693147181F;

/// P is rounded to fp16 as 2^15 P: P is 1 at the most, and its small values keep all their bits, also where
/// matrix cores flush subnormal numbers (gfx90a). bf16 has room enough.
template <class T>
inline constexpr int kPShift = std::is_same_v<T, Half> ? 15 : 0;
template <class T>
inline constexpr float kPUnshift = 1.0F / static_cast<float>(1 << kPShift<T>);

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
  const float* norms;  // [kNorms], see input_scales.h; nullptr where nothing is scaled
  Scores<T> scores;
  SequenceTable sequences;
  MaskRule mask;
  int batch;
  int nhead_q;
  int nhead_k;
  int group_size;
  bool grouped;
};

/// Whether inputs, P and dS are scaled.
template <class Unit>
__device__ __forceinline__ bool is_scaled(const Arguments<typename Unit::Element>& a) {
  return Unit::kScalesInputs && flushes_halves(a.norms);
}
template <class Unit>
__device__ __forceinline__ ScalesOf<Unit> scales_of(const Arguments<typename Unit::Element>& a) {
  return ScalesOf<Unit>(a.norms, a.scores.draws.keep_scale);
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

/// The part of stage 2 that is a workgroup's: a key head of a sequence, and a slice of its tiles of keys.
struct BlockPart {
  int slice;
  int index;  // of the sequence
  int head_k;

  template <class T>
  __device__ __forceinline__ explicit BlockPart(const Arguments<T>& a) {
    const int block = current_block();
    const int plane = block / a.slices;
    slice = block % a.slices;
    index = plane / a.nhead_k;
    head_k = plane % a.nhead_k;
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::matrix
