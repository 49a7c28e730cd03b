// Two more implementations of attention, written apart from reference/: an oracle with explicit matrices, and
// a stand-in for a correct kernel that rounds in other places and sums in another order than the textbook.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/mask.h"
#include "base/problem.h"
#include "base/tensor.h"
#include "reference/inputs.h"

namespace fmha_bwd::testing {

using Visible = std::function<bool(std::int64_t query, std::int64_t key)>;

/// The masks, in words of their own: not base/mask.h.
inline Visible visible_in(MaskKind kind, const Problem& p) {
  if (kind == MaskKind::top_left) return [](std::int64_t i, std::int64_t j) { return j <= i; };
  if (kind == MaskKind::bottom_right) {
    return [p](std::int64_t i, std::int64_t j) { return p.seqlen_k - 1 - j >= p.seqlen_q - 1 - i; };
  }
  return [](std::int64_t, std::int64_t) { return true; };
}

template <typename Real>
struct NaiveAttention {
  std::vector<Real> o, lse, d, dq, dk, dv;
};

/// All pairs, textbook formulas, the definition of the softmax's gradient by its Jacobian.
inline NaiveAttention<double> naive_attention(const Problem& p, const Visible& visible,
                                              const AttentionInputs& in) {
  const auto size = [&](TensorId id) { return static_cast<std::size_t>(shape_of(id, p).elements()); };
  NaiveAttention<double> out;
  out.o.resize(size(TensorId::o));
  out.lse.resize(size(TensorId::lse));
  out.d.resize(size(TensorId::d));
  out.dq.resize(size(TensorId::dq));
  out.dk.resize(size(TensorId::dk));
  out.dv.resize(size(TensorId::dv));
  const auto scale = static_cast<double>(p.scale);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.nhead_q; ++h) {
      const std::int64_t hk = h * p.nhead_k / p.nhead_q;
      for (std::int64_t i = 0; i < p.seqlen_q; ++i) {
        const std::int64_t row = (b * p.nhead_q + h) * p.seqlen_q + i;
        const auto key_row = [&](std::int64_t j) { return (b * p.nhead_k + hk) * p.seqlen_k + j; };
        const auto q = [&](std::int64_t c) { return static_cast<double>(in.q[row * p.hdim_q + c]); };
        const auto d_o = [&](std::int64_t c) { return static_cast<double>(in.d_o[row * p.hdim_v + c]); };
        const auto k = [&](std::int64_t j, std::int64_t c) {
          return static_cast<double>(in.k[key_row(j) * p.hdim_q + c]);
        };
        const auto v = [&](std::int64_t j, std::int64_t c) {
          return static_cast<double>(in.v[key_row(j) * p.hdim_v + c]);
        };

        std::vector<double> weight(p.seqlen_k), d_weight(p.seqlen_k);
        double largest = -std::numeric_limits<double>::infinity();
        for (std::int64_t j = 0; j < p.seqlen_k; ++j) {
          for (std::int64_t c = 0; c < p.hdim_q; ++c) weight[j] += scale * q(c) * k(j, c);
          if (visible(i, j)) largest = std::max(largest, weight[j]);
        }
        double total = 0.0;
        for (std::int64_t j = 0; j < p.seqlen_k; ++j) {
          weight[j] = visible(i, j) ? std::exp(weight[j] - largest) : 0.0;
          total += weight[j];
        }
        out.lse[row] = largest + std::log(total);
        for (std::int64_t j = 0; j < p.seqlen_k; ++j) {
          if (total > 0.0) weight[j] /= total;
          for (std::int64_t c = 0; c < p.hdim_v; ++c) {
            out.o[row * p.hdim_v + c] += weight[j] * v(j, c);
            d_weight[j] += d_o(c) * v(j, c);
            out.dv[key_row(j) * p.hdim_v + c] += weight[j] * d_o(c);
          }
        }
        for (std::int64_t j = 0; j < p.seqlen_k; ++j) out.d[row] += weight[j] * d_weight[j];
        for (std::int64_t j = 0; j < p.seqlen_k; ++j) {
          double d_score = 0.0;
          for (std::int64_t other = 0; other < p.seqlen_k; ++other) {
            d_score += weight[other] * ((other == j ? 1.0 : 0.0) - weight[j]) * d_weight[other];
          }
          for (std::int64_t c = 0; c < p.hdim_q; ++c) {
            out.dq[row * p.hdim_q + c] += scale * d_score * k(j, c);
            out.dk[key_row(j) * p.hdim_q + c] += scale * d_score * q(c);
          }
        }
      }
    }
  }
  return out;
}

/// How KernelLike departs from the textbook.
struct KernelHabits {
  bool rounds_operands = true;  // P and dS are rounded to the type, P in the forward pass before its division
  bool base_two = true;         // exp2 of scores times log2(e)
  bool last_to_first = true;    // sums from the last key or query to the first
  std::int64_t parallel_sums = 4;  // of each dot product, added up at the end
};

/// fp32 with fused multiply-adds, one pass of online softmax, operands and outputs rounded to the type.
inline NaiveAttention<float> kernel_like_attention(const Problem& p, const Visible& visible,
                                                   const AttentionInputs& in,
                                                   const KernelHabits& habits = {}) {
  const auto size = [&](TensorId id) { return static_cast<std::size_t>(shape_of(id, p).elements()); };
  NaiveAttention<float> out;
  out.o.resize(size(TensorId::o));
  out.lse.resize(size(TensorId::lse));
  out.d.resize(size(TensorId::d));
  out.dq.resize(size(TensorId::dq));
  out.dk.resize(size(TensorId::dk));
  out.dv.resize(size(TensorId::dv));
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

  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.nhead_q; ++h) {
      const std::int64_t hk = h / (p.nhead_q / p.nhead_k);
      for (std::int64_t turn = 0; turn < p.seqlen_q; ++turn) {
        const std::int64_t i = habits.last_to_first ? p.seqlen_q - 1 - turn : turn;
        const std::int64_t row = (b * p.nhead_q + h) * p.seqlen_q + i;
        const float* q = &in.q[row * p.hdim_q];
        const float* d_o = &in.d_o[row * p.hdim_v];
        float* o = &out.o[row * p.hdim_v];
        float* dq = &out.dq[row * p.hdim_q];
        const auto key_at = [&](std::int64_t step) {
          return habits.last_to_first ? p.seqlen_k - 1 - step : step;
        };
        const auto key_row = [&](std::int64_t j) { return (b * p.nhead_k + hk) * p.seqlen_k + j; };

        float largest = -std::numeric_limits<float>::infinity();
        float total = 0.0F;
        for (std::int64_t step = 0; step < p.seqlen_k; ++step) {
          const std::int64_t j = key_at(step);
          if (!visible(i, j)) continue;
          const float s = p.scale * dot(q, &in.k[key_row(j) * p.hdim_q], p.hdim_q);
          const float before = largest;
          largest = std::max(largest, s);
          const float shrink = before == largest ? 1.0F : exponential(before - largest);
          const float weight = exponential(s - largest);
          total = total * shrink + weight;
          for (std::int64_t c = 0; c < p.hdim_v; ++c) {
            o[c] = std::fma(operand(weight), in.v[key_row(j) * p.hdim_v + c], o[c] * shrink);
          }
        }
        const bool empty = total == 0.0F;
        for (std::int64_t c = 0; c < p.hdim_v; ++c) o[c] = empty ? 0.0F : round_to(p.dtype, o[c] / total);
        out.lse[row] = largest + std::log(total);
        out.d[row] = dot(d_o, o, p.hdim_v);

        for (std::int64_t step = 0; step < p.seqlen_k; ++step) {
          const std::int64_t j = key_at(step);
          if (!visible(i, j)) continue;
          const float s = dot(q, &in.k[key_row(j) * p.hdim_q], p.hdim_q);
          const float weight = habits.base_two
                                   ? std::exp2(std::fma(s, p.scale * kLog2e, -out.lse[row] * kLog2e))
                                   : std::exp(p.scale * s - out.lse[row]);
          const float d_weight = dot(d_o, &in.v[key_row(j) * p.hdim_v], p.hdim_v);
          const float ds = operand(weight * (d_weight - out.d[row]));
          for (std::int64_t c = 0; c < p.hdim_v; ++c) {
            float& sum = out.dv[key_row(j) * p.hdim_v + c];
            sum = std::fma(operand(weight), d_o[c], sum);
          }
          for (std::int64_t c = 0; c < p.hdim_q; ++c) {
            float& sum = out.dk[key_row(j) * p.hdim_q + c];
            sum = std::fma(ds, q[c], sum);
            dq[c] = std::fma(ds, in.k[key_row(j) * p.hdim_q + c], dq[c]);
          }
        }
      }
    }
  }
  for (float& x : out.dq) x = round_to(p.dtype, p.scale * x);
  for (float& x : out.dk) x = round_to(p.dtype, p.scale * x);
  for (float& x : out.dv) x = round_to(p.dtype, x);
  return out;
}

}  // namespace fmha_bwd::testing
