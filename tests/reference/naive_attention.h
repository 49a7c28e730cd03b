// Two more implementations of attention, written apart from reference/: an oracle with explicit matrices, and
// a stand-in for a correct kernel that rounds in other places and sums in another order than the textbook.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/dropout.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/tensor.h"
#include "reference/inputs.h"
#include "reference/per_output.h"

namespace fmha_bwd::testing {

/// Where one sequence stands, counted here and not by base/sequences.h.
struct NaiveSequence {
  const Problem* p;
  std::int64_t number;
  std::int64_t seqlen_q, seqlen_k;
  std::int64_t first_q = 0, first_k = 0;  // in group mode
  std::int64_t total_q = 0, total_k = 0;

  std::int64_t query_row(std::int64_t head, std::int64_t i) const {
    return p->grouped() ? head * total_q + first_q + i : (number * p->nhead_q + head) * p->seqlen_q + i;
  }
  std::int64_t key_row(std::int64_t head, std::int64_t j) const {
    const std::int64_t key_head = head * p->nhead_k / p->nhead_q;
    return p->grouped() ? key_head * total_k + first_k + j
                        : (number * p->nhead_k + key_head) * p->seqlen_k + j;
  }
  std::int64_t bias_at(std::int64_t head, std::int64_t i, std::int64_t j) const {
    std::int64_t matrix = 0;
    if (p->bias == BiasShape::head) matrix = head;
    if (p->bias == BiasShape::batch) matrix = number;
    if (p->bias == BiasShape::full) matrix = number * p->nhead_q + head;
    return (matrix * p->seqlen_q + i) * p->seqlen_k + j;
  }
};

inline std::vector<NaiveSequence> naive_sequences(const Problem& p) {
  std::vector<NaiveSequence> all;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    NaiveSequence s{&p, b, p.grouped() ? p.seqlens_q[b] : p.seqlen_q,
                    p.grouped() ? p.seqlens_k[b] : p.seqlen_k};
    for (std::size_t other = 0; other < p.seqlens_q.size(); ++other) {
      if (static_cast<std::int64_t>(other) == b) {
        s.first_q = s.total_q;
        s.first_k = s.total_k;
      }
      s.total_q += p.seqlens_q[other];
      s.total_k += p.seqlens_k[other];
    }
    all.push_back(s);
  }
  return all;
}

/// How far key j is after the place of query i; bottom_right counts both from the ends.
inline std::int64_t ahead(const MaskSpec& mask, const NaiveSequence& s, std::int64_t i, std::int64_t j) {
  if (mask.alignment == Alignment::top_left) return j - i;
  return (s.seqlen_q - 1 - i) - (s.seqlen_k - 1 - j);
}

/// The masks, in words of their own: not base/mask.h.
inline bool sees(const MaskSpec& mask, const NaiveSequence& s, std::int64_t i, std::int64_t j) {
  for (const std::int64_t end : mask.document_ends) {
    if ((i < end) != (j < end)) return false;
  }
  const std::int64_t distance = ahead(mask, s, i, j);
  return j < mask.prefix || (-distance <= mask.left && distance <= mask.right);
}

template <typename Real>
struct NaiveAttention : PerOutput<std::vector<Real>> {
  explicit NaiveAttention(const Problem& p) {
    const auto size = [&](TensorId id) {
      return has_tensor(p, id) ? static_cast<std::size_t>(shape_of(id, p).elements()) : 0;
    };
    this->o.resize(size(TensorId::o));
    this->lse.resize(size(TensorId::lse));
    this->d.resize(size(TensorId::d));
    this->dq.resize(size(TensorId::dq));
    this->dk.resize(size(TensorId::dk));
    this->dv.resize(size(TensorId::dv));
    this->dbias.resize(size(TensorId::dbias));
    this->dsink.resize(size(TensorId::dsink));
  }
};

/// All pairs, textbook formulas, the definition of the softmax's gradient by its Jacobian. The sink is one
/// more key, whose value is zero.
inline NaiveAttention<double> naive_attention(const Problem& p, const MaskSpec& mask,
                                              const AttentionInputs& in) {
  NaiveAttention<double> out(p);
  const auto scale = static_cast<double>(p.scale);
  const auto cap = static_cast<double>(p.softcap);
  const DropoutDraws draws = dropout_draws(p);
  const auto one_row = [&](const NaiveSequence& s, std::int64_t h, std::int64_t i) {
    const std::int64_t row = s.query_row(h, i);
    const std::int64_t sink = s.seqlen_k;  // the number of its key
    const auto q = [&](std::int64_t c) { return static_cast<double>(in.q[row * p.hdim_q + c]); };
    const auto d_o = [&](std::int64_t c) { return static_cast<double>(in.d_o[row * p.hdim_v + c]); };
    const auto k = [&](std::int64_t j, std::int64_t c) {
      return static_cast<double>(in.k[s.key_row(h, j) * p.hdim_q + c]);
    };
    const auto v = [&](std::int64_t j, std::int64_t c) {
      return static_cast<double>(in.v[s.key_row(h, j) * p.hdim_v + c]);
    };

    constexpr double kNone = -std::numeric_limits<double>::infinity();
    std::vector<double> score(sink + 1, kNone), slope(sink + 1, 1.0), weight(sink + 1), kept(sink + 1);
    if (p.sink) score[sink] = static_cast<double>(in.sink[h]);
    for (std::int64_t j = 0; j < s.seqlen_k; ++j) {
      if (!sees(mask, s, i, j)) continue;
      score[j] = 0.0;
      for (std::int64_t c = 0; c < p.hdim_q; ++c) score[j] += scale * q(c) * k(j, c);
      if (p.softcap > 0.0F) {
        slope[j] = 1.0 / std::pow(std::cosh(score[j] / cap), 2.0);
        score[j] = cap * std::tanh(score[j] / cap);
      }
      if (p.bias != BiasShape::none) score[j] += static_cast<double>(in.bias[s.bias_at(h, i, j)]);
      if (p.alibi) {
        score[j] -= static_cast<double>(in.slopes[h]) * std::abs(static_cast<double>(ahead(mask, s, i, j)));
      }
    }
    const double largest = *std::max_element(score.begin(), score.end());
    double total = 0.0;
    for (std::int64_t j = 0; j <= sink; ++j) {
      weight[j] = score[j] == kNone ? 0.0 : std::exp(score[j] - largest);
      total += weight[j];
    }
    out.lse[row] = largest + std::log(total);

    std::vector<double> d_weight(sink + 1);
    for (std::int64_t j = 0; j < s.seqlen_k; ++j) {
      if (total > 0.0) weight[j] /= total;
      const bool drops = p.dropout.probability > 0.0F && !draws.keeps(s.number * p.nhead_q + h, i, j);
      kept[j] = drops ? 0.0 : static_cast<double>(draws.keep_scale);
      for (std::int64_t c = 0; c < p.hdim_v; ++c) {
        out.o[row * p.hdim_v + c] += weight[j] * kept[j] * v(j, c);
        d_weight[j] += kept[j] * d_o(c) * v(j, c);
        out.dv[s.key_row(h, j) * p.hdim_v + c] += weight[j] * kept[j] * d_o(c);
      }
    }
    if (total > 0.0) weight[sink] /= total;
    for (std::int64_t j = 0; j <= sink; ++j) out.d[row] += weight[j] * d_weight[j];
    for (std::int64_t j = 0; j <= sink; ++j) {
      double d_score = 0.0;
      for (std::int64_t other = 0; other <= sink; ++other) {
        d_score += weight[other] * ((other == j ? 1.0 : 0.0) - weight[j]) * d_weight[other];
      }
      if (j == sink) {
        if (p.sink) out.dsink[h] += d_score;
        break;
      }
      if (p.bias != BiasShape::none) out.dbias[s.bias_at(h, i, j)] += d_score;
      for (std::int64_t c = 0; c < p.hdim_q; ++c) {
        out.dq[row * p.hdim_q + c] += scale * slope[j] * d_score * k(j, c);
        out.dk[s.key_row(h, j) * p.hdim_q + c] += scale * slope[j] * d_score * q(c);
      }
    }
  };
  for (const NaiveSequence& s : naive_sequences(p)) {
    for (std::int64_t h = 0; h < p.nhead_q; ++h) {
      for (std::int64_t i = 0; i < s.seqlen_q; ++i) one_row(s, h, i);
    }
  }
  return out;
}

/// How KernelLike departs from the textbook.
struct KernelHabits {
  bool rounds_operands = true;  // P and dX are rounded to the type, P in the forward pass before its division
  bool base_two = true;         // exp2 of scores times log2(e)
  bool last_to_first = true;    // sums from the last key or query to the first
  std::int64_t parallel_sums = 4;  // of each dot product, added up at the end
  bool forgets_slope = false;      // a fault: dX = dS under a soft-cap
};

/// fp32 with fused multiply-adds, one pass of online softmax, operands and outputs rounded to the type.
inline NaiveAttention<float> kernel_like_attention(const Problem& p, const MaskSpec& mask,
                                                   const AttentionInputs& in,
                                                   const KernelHabits& habits = {}) {
  NaiveAttention<float> out(p);
  const DropoutDraws draws = dropout_draws(p);
  const auto operand = [&](float x) { return habits.rounds_operands ? round_to(p.dtype, x) : x; };
  const auto dot = [&](const float* a, const float* b, std::int64_t length) {
    std::vector<float> sums(static_cast<std::size_t>(habits.parallel_sums));
    for (std::int64_t c = 0; c < length; ++c) {
      float& sum = sums[c % habits.parallel_sums];
      sum = std::fma(a[c], b[c], sum);
    }
    float total = 0.0F;
    for (const float sum : sums) total += sum;
    return total;
  };
  constexpr float kLog2e = 1.44269504F;
  const auto exponential = [&](float x) { return habits.base_two ? std::exp2(x * kLog2e) : std::exp(x); };

  const auto one_row = [&](const NaiveSequence& s, std::int64_t h, std::int64_t i) {
    const std::int64_t row = s.query_row(h, i);
    const float* q = &in.q[row * p.hdim_q];
    const float* d_o = &in.d_o[row * p.hdim_v];
    float* o = &out.o[row * p.hdim_v];
    float* dq = &out.dq[row * p.hdim_q];
    const auto key_at = [&](std::int64_t step) {
      return habits.last_to_first ? s.seqlen_k - 1 - step : step;
    };
    const auto keep_of = [&](std::int64_t j) {
      if (p.dropout.probability == 0.0F) return 1.0F;
      return draws.keeps(s.number * p.nhead_q + h, i, j) ? draws.keep_scale : 0.0F;
    };
    float slope = 1.0F;
    const auto score_of = [&](std::int64_t j) {
      float score = p.scale * dot(q, &in.k[s.key_row(h, j) * p.hdim_q], p.hdim_q);
      if (p.softcap > 0.0F) {
        const float share = std::tanh(score * (1.0F / p.softcap));
        slope = std::fma(-share, share, 1.0F);
        score = p.softcap * share;
      }
      if (p.alibi) {
        score = std::fma(-in.slopes[h], std::abs(static_cast<float>(ahead(mask, s, i, j))), score);
      }
      if (p.bias != BiasShape::none) score += in.bias[s.bias_at(h, i, j)];
      return score;
    };

    float largest = -std::numeric_limits<float>::infinity();
    float total = 0.0F;
    for (std::int64_t step = 0; step < s.seqlen_k; ++step) {
      const std::int64_t j = key_at(step);
      if (!sees(mask, s, i, j)) continue;
      const float score = score_of(j);
      const float before = largest;
      largest = std::max(largest, score);
      const float shrink = before == largest ? 1.0F : exponential(before - largest);
      const float weight = exponential(score - largest);
      total = total * shrink + weight;
      for (std::int64_t c = 0; c < p.hdim_v; ++c) {
        o[c] = std::fma(operand(weight * keep_of(j)), in.v[s.key_row(h, j) * p.hdim_v + c], o[c] * shrink);
      }
    }
    if (p.sink) {
      const float before = largest;
      largest = std::max(largest, in.sink[h]);
      const float shrink = exponential(before - largest);
      total = total * shrink + exponential(in.sink[h] - largest);
      for (std::int64_t c = 0; c < p.hdim_v; ++c) o[c] *= shrink;
    }
    const bool empty = total == 0.0F;
    for (std::int64_t c = 0; c < p.hdim_v; ++c) o[c] = empty ? 0.0F : round_to(p.dtype, o[c] / total);
    out.lse[row] = largest + std::log(total);
    out.d[row] = dot(d_o, o, p.hdim_v);
    if (p.sink) out.dsink[h] -= exponential(in.sink[h] - out.lse[row]) * out.d[row];

    for (std::int64_t step = 0; step < s.seqlen_k; ++step) {
      const std::int64_t j = key_at(step);
      if (!sees(mask, s, i, j)) continue;
      const float score = score_of(j);
      const float weight = habits.base_two ? std::exp2(std::fma(score, kLog2e, -out.lse[row] * kLog2e))
                                           : std::exp(score - out.lse[row]);
      const float keep = keep_of(j);
      const float d_weight = keep * dot(d_o, &in.v[s.key_row(h, j) * p.hdim_v], p.hdim_v);
      const float ds = weight * (d_weight - out.d[row]);
      const float dx = operand(habits.forgets_slope ? ds : ds * slope);
      if (p.bias != BiasShape::none) out.dbias[s.bias_at(h, i, j)] += ds;
      for (std::int64_t c = 0; c < p.hdim_v; ++c) {
        float& sum = out.dv[s.key_row(h, j) * p.hdim_v + c];
        sum = std::fma(operand(weight * keep), d_o[c], sum);
      }
      for (std::int64_t c = 0; c < p.hdim_q; ++c) {
        float& sum = out.dk[s.key_row(h, j) * p.hdim_q + c];
        sum = std::fma(dx, q[c], sum);
        dq[c] = std::fma(dx, in.k[s.key_row(h, j) * p.hdim_q + c], dq[c]);
      }
    }
  };
  for (const NaiveSequence& s : naive_sequences(p)) {
    for (std::int64_t h = 0; h < p.nhead_q; ++h) {
      for (std::int64_t turn = 0; turn < s.seqlen_q; ++turn) {
        one_row(s, h, habits.last_to_first ? s.seqlen_q - 1 - turn : turn);
      }
    }
  }
  for (float& x : out.dq) x = round_to(p.dtype, p.scale * x);
  for (float& x : out.dk) x = round_to(p.dtype, p.scale * x);
  for (float& x : out.dv) x = round_to(p.dtype, x);
  for (float& x : out.dbias) x = round_to(p.dtype, x);
  return out;
}

}  // namespace fmha_bwd::testing
