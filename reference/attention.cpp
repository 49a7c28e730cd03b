#include "reference/attention.h"

#include <stdexcept>
#include <string>

#include "reference/full_attention.h"
#include "reference/score_terms.h"

namespace fmha_bwd {
namespace {

void require_inputs(const Problem& problem, const AttentionInputs& inputs) {
  const auto require = [&](TensorId id, const std::vector<float>& values) {
    if (!has_tensor(problem, id)) return;
    if (static_cast<std::int64_t>(values.size()) == shape_of(id, problem).elements()) return;
    throw std::invalid_argument("attention: " + std::string(name_of(id)) + " does not fill its shape");
  };
  require(TensorId::q, inputs.q);
  require(TensorId::k, inputs.k);
  require(TensorId::v, inputs.v);
  require(TensorId::d_o, inputs.d_o);
  require(TensorId::bias, inputs.bias);
  require(TensorId::slopes, inputs.slopes);
  require(TensorId::sink, inputs.sink);
}

template <typename Real>
Attention<Real> all_of(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                       const Workers& workers) {
  require_inputs(problem, inputs);
  const ScoreTerms terms(problem, mask, InputViews(inputs));
  Attention<Real> result;
  const auto allocated = [&](TensorId id, std::vector<Real>& values) {
    if (has_tensor(problem, id)) values.resize(static_cast<std::size_t>(shape_of(id, problem).elements()));
    return values.data();
  };
  const PerOutput<Real*> outputs = {
      allocated(TensorId::o, result.o),         allocated(TensorId::lse, result.lse),
      allocated(TensorId::d, result.d),         allocated(TensorId::dq, result.dq),
      allocated(TensorId::dk, result.dk),       allocated(TensorId::dv, result.dv),
      allocated(TensorId::dbias, result.dbias), allocated(TensorId::dsink, result.dsink)};
  attention_forward(terms, part_of(workers, 0.0, 2.0 / 7.0), outputs.o, outputs.lse);
  result.statistics = attention_backward(terms, part_of(workers, 2.0 / 7.0, 1.0), outputs);
  return result;
}

}  // namespace

ExactAttention exact_attention(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                               const Workers& workers) {
  return all_of<double>(problem, mask, inputs, workers);
}

TextbookAttention textbook_attention(const Problem& problem, const MaskSpec& mask,
                                     const AttentionInputs& inputs, const Workers& workers) {
  return all_of<float>(problem, mask, inputs, workers);
}

}  // namespace fmha_bwd
