// From a product q.k to a score, its probability and its gradients.
//
//   x = scale q.k,  s = softcap tanh(x / softcap),  S = s + bias - slope |i + diagonal - j|
//   P = exp(S - LSE),  keep = 0 or 1 / (1 - p) by base/dropout.h
//   dS = P (keep dP - D),  dx = dS (1 - (s / softcap)^2)
//
// A problem with none of these is plain: its kernels take a shorter way.
#pragma once

#include "base/dropout.h"
#include "base/mask.h"
#include "kernels/element.h"
#include "kernels/family.h"
#include "kernels/view.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// What a pair contributes to the gradients.
struct PairGradients {
  float p;   // P keep, of dV
  float ds;  // of the bias
  float dx;  // of scale Q K^T
};

/// The scores of one query head of one sequence.
template <class T>
struct HeadScores {
  float scale;
  float softcap;
  float inverse_softcap;
  const T* bias;  // [seqlen_q, bias_stride], or nullptr
  std::int64_t bias_stride;
  float slope;
  std::int64_t diagonal;
  bool drops;
  DropoutDraws draws;
  std::int64_t head;  // among all of the batch

  /// The score of a pair; `qk` is its product.
  __device__ __forceinline__ float score(float qk, int query, int key) const {
    const float x = qk * scale;
    return shifted(softcap > 0.0F ? softcap * tanhf(x * inverse_softcap) : x, query, key);
  }

  /// 0, or 1 / (1 - p).
  __device__ __forceinline__ float keep(int query, int key) const {
    if (!drops) return 1.0F;
    return draws.keeps(head, query, key) ? draws.keep_scale : 0.0F;
  }

  /// The gradients of a visible pair; `dp` is dO_i . V_j.
  __device__ __forceinline__ PairGradients gradients(float qk, float dp, float lse, float d, int query,
                                                     int key) const {
    const float x = qk * scale;
    const float bent = softcap > 0.0F ? tanhf(x * inverse_softcap) : 0.0F;
    const float p = expf(shifted(softcap > 0.0F ? softcap * bent : x, query, key) - lse);
    const float kept = keep(query, key);
    const float ds = p * (kept * dp - d);
    return {p * kept, ds, ds * (1.0F - bent * bent)};
  }

 private:
  __device__ __forceinline__ float shifted(float score, int query, int key) const {
    if (bias != nullptr) score += to_float(bias[query * bias_stride + key]);
    if (slope != 0.0F) {
      const std::int64_t distance = query + diagonal - key;
      score -= slope * static_cast<float>(distance < 0 ? -distance : distance);
    }
    return score;
  }
};

/// One query head of one sequence.
struct HeadPlace {
  int sequence;  // its index
  int head;
  int diagonal;  // query i stands at key i + diagonal

  __device__ __forceinline__ HeadPlace(int index, int head_index, const MaskRule& rule, int seqlen_q,
                                       int seqlen_k)
      : sequence(index),
        head(head_index),
        diagonal(static_cast<int>(Mask(rule, seqlen_q, seqlen_k).diagonal())) {}
};

/// The scores of a problem. Bias [1 or batch, 1 or nhead_q, seqlen_q, seqlen_k], slopes and sinks [nhead_q];
/// nullptr where the problem has none.
template <class T>
struct Scores {
  float scale;
  float softcap;
  bool plain;
  bool drops;
  const T* bias;
  std::int64_t bias_batch_stride;  // 0 where all sequences share it
  std::int64_t bias_head_stride;   // 0 where all heads do
  std::int64_t bias_stride;
  const float* slopes;
  const float* sink;
  DropoutDraws draws;
  int nhead_q;

  __device__ __forceinline__ HeadScores<T> of(const HeadPlace& at) const {
    return {scale,
            softcap,
            softcap > 0.0F ? 1.0F / softcap : 0.0F,
            bias == nullptr ? nullptr : bias + at.sequence * bias_batch_stride + at.head * bias_head_stride,
            bias_stride,
            slopes == nullptr ? 0.0F : slopes[at.head],
            at.diagonal,
            drops,
            draws,
            static_cast<std::int64_t>(at.sequence) * nhead_q + at.head};
  }
};

template <class T>
Scores<T> scores_of(const Problem& problem, const DeviceTensors& tensors) {
  const Shape shape = shape_of(TensorId::bias, problem);
  const Strides strides = place_of(TensorId::bias, problem).strides;
  return {problem.scale,
          problem.softcap,
          problem.plain_scores(),
          problem.dropout.probability > 0.0F,
          static_cast<const T*>(tensors.bias),
          shape.batch > 1 ? strides.batch : 0,
          shape.head > 1 ? strides.head : 0,
          strides.row,
          tensors.slopes,
          tensors.sink,
          dropout_draws(problem),
          static_cast<int>(problem.nhead_q)};
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
