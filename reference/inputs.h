// The CPU's own drawing of the inputs, bit for bit what base/random.h says the devices draw.
#pragma once

#include <vector>

#include "base/problem.h"
#include "base/tensor.h"
#include "reference/parallel.h"

namespace fmha_bwd {

/// Q, K, V or dO: element e of the tensor takes word e % 4 of quad e / 4 of the tensor's own stream, mapped
/// to a normal value of the fill's standard deviation and rounded to the problem's type.
HostTensor draw_input(TensorId id, const Problem& problem, const Fill& fill, const Workers& workers = {});

/// The values of the four inputs, in the shapes of base/problem.h.
struct AttentionInputs {
  std::vector<float> q;    // [batch, nhead_q, seqlen_q, hdim_q]
  std::vector<float> k;    // [batch, nhead_k, seqlen_k, hdim_q]
  std::vector<float> v;    // [batch, nhead_k, seqlen_k, hdim_v]
  std::vector<float> d_o;  // [batch, nhead_q, seqlen_q, hdim_v]
};

/// All four, as draw_input draws them.
AttentionInputs draw_inputs(const Problem& problem, const Fill& fill, const Workers& workers = {});

}  // namespace fmha_bwd
