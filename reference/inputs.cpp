#include "reference/inputs.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "base/alibi.h"
#include "base/random.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kQuad = 4;
constexpr std::int64_t kChunk = 4096 * kQuad;  // elements a thread draws at a time

}  // namespace

HostTensor draw_input(TensorId id, const Problem& problem, const Fill& fill, const Workers& workers) {
  const Shape shape = shape_of(id, problem);
  const std::int64_t elements = shape.elements();
  const FillRule rule = fill_rule(id, problem, fill);
  std::vector<float> values(static_cast<std::size_t>(elements));
  parallel_for((elements + kChunk - 1) / kChunk,
               [&](std::int64_t chunk) {
                 const std::int64_t end = std::min(elements, (chunk + 1) * kChunk);
                 for (std::int64_t first = chunk * kChunk; first < end; first += kQuad) {
                   const auto words =
                       philox_quad(rule.seed, rule.stream, static_cast<std::uint64_t>(first / kQuad));
                   for (std::int64_t i = 0; i < std::min(kQuad, end - first); ++i) {
                     const auto row = static_cast<std::uint64_t>((first + i) / shape.column);
                     values[first + i] = rule.value(words[static_cast<std::size_t>(i)], row);
                   }
                 }
               },
               workers);
  return tensor_from(values, shape, dtype_of(id, problem));
}

std::vector<float>& AttentionInputs::of(TensorId id) {
  switch (id) {
    case TensorId::q:
      return q;
    case TensorId::k:
      return k;
    case TensorId::v:
      return v;
    case TensorId::d_o:
      return d_o;
    case TensorId::bias:
      return bias;
    case TensorId::slopes:
      return slopes;
    case TensorId::sink:
      return sink;
    default:
      throw std::invalid_argument("an output is not an input");
  }
}

AttentionInputs draw_inputs(const Problem& problem, const Fill& fill, const Workers& workers) {
  AttentionInputs inputs;
  for (const TensorId id : inputs_of(problem)) {
    inputs.of(id) = values_of(draw_input(id, problem, fill, workers));
  }
  if (problem.alibi) inputs.slopes = alibi_slopes(problem.nhead_q);
  return inputs;
}

}  // namespace fmha_bwd
