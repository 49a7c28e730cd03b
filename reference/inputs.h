// The CPU's own drawing of the inputs, bit for bit what base/random.h says the devices draw.
#pragma once

#include <vector>

#include "base/fill.h"
#include "base/problem.h"
#include "base/tensor.h"
#include "reference/parallel.h"

namespace fmha_bwd {

/// One of inputs_of(problem): element e of the tensor takes word e % 4 of quad e / 4 of the tensor's own
/// stream, mapped to a value as fill_rule says and rounded to the tensor's type.
HostTensor draw_input(TensorId id, const Problem& problem, const Fill& fill, const Workers& workers = {});

/// The values of the inputs, in the shapes of base/tensor.h; empty where the problem has no such tensor.
struct AttentionInputs {
  std::vector<float> q = {};       // [batch, nhead_q, seqlen_q, hdim_q]
  std::vector<float> k = {};       // [batch, nhead_k, seqlen_k, hdim_q]
  std::vector<float> v = {};       // [batch, nhead_k, seqlen_k, hdim_v]
  std::vector<float> d_o = {};     // [batch, nhead_q, seqlen_q, hdim_v]
  std::vector<float> bias = {};    // [1 or batch, 1 or nhead_q, seqlen_q, seqlen_k]
  std::vector<float> slopes = {};  // [nhead_q], ALiBi's
  std::vector<float> sink = {};    // [nhead_q]

  /// That of the tensor of that name; throws std::invalid_argument for an output's.
  std::vector<float>& of(TensorId id);
};

/// All of them, as draw_input draws them, and ALiBi's slopes.
AttentionInputs draw_inputs(const Problem& problem, const Fill& fill, const Workers& workers = {});

}  // namespace fmha_bwd
