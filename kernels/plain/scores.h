// One pair of a query and a key: its score, its probability and its gradients, by reference/attention.h.
//
//   x = scale q.k            S = softcap tanh(x / softcap) + bias - slope |i + diagonal - j|
//   P = exp(S - LSE)         Z = 0 or 1 / (1 - probability)
//   dS = P (Z dP - D)        dX = dS (1 - tanh(x / softcap)^2)
#pragma once

#include "kernels/plain/arguments.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {

/// What a pair contributes to the gradients.
struct PairGradients {
  float pz;  // P Z
  float ds;
  float dx;
};

/// The pairs of one query head of one sequence.
class HeadScores {
 public:
  __device__ __forceinline__ HeadScores(const Arguments& a, const Sequence& sequence, int index, int head)
      : a_(a),
        bias_(nullptr),
        slope_(a.slopes == nullptr ? 0.0F : a.slopes[head]),
        diagonal_(Mask(a.mask, sequence.seqlen_q, sequence.seqlen_k).diagonal()),
        head_(static_cast<std::int64_t>(index) * a.nhead_q + head) {
    if (a.bias == nullptr) return;
    const std::int64_t batch = a.bias_batch == 1 ? 0 : index;
    const std::int64_t plane = batch * a.bias_heads + (a.bias_heads == 1 ? 0 : head);
    bias_ = a.bias + plane * a.seqlen_q * a.seqlen_k;
  }

  /// S.
  __device__ __forceinline__ float score(float dot, int query, int key) const {
    const float x = a_.scale * dot;
    return shifted(a_.softcap > 0.0F ? a_.softcap * tanhf(x / a_.softcap) : x, query, key);
  }

  /// Z.
  __device__ __forceinline__ float keep(int query, int key) const {
    if (!a_.drops) return 1.0F;
    return a_.draws.keeps(head_, query, key) ? a_.draws.keep_scale : 0.0F;
  }

  /// The gradients of a visible pair; `dp` is dO . V.
  __device__ __forceinline__ PairGradients gradients(float dot, float dp, float lse, float d, int query,
                                                     int key) const {
    const float p = expf(score(dot, query, key) - lse);
    const float z = keep(query, key);
    const float ds = p * (z * dp - d);
    if (a_.softcap == 0.0F) return {p * z, ds, ds};
    const float share = tanhf(a_.scale * dot / a_.softcap);
    return {p * z, ds, ds * (1.0F - share * share)};
  }

 private:
  __device__ __forceinline__ float shifted(float score, int query, int key) const {
    if (bias_ != nullptr) score += bias_[query * a_.seqlen_k + key];
    if (slope_ == 0.0F) return score;
    const std::int64_t distance = query + diagonal_ - key;
    return score - slope_ * static_cast<float>(distance < 0 ? -distance : distance);
  }

  const Arguments& a_;
  const float* bias_;  // [seqlen_q, seqlen_k], of this head
  float slope_;
  std::int64_t diagonal_;  // query i stands at key i + diagonal
  std::int64_t head_;      // counted over the sequences
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
