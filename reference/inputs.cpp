#include "reference/inputs.h"

#include <algorithm>
#include <cstdint>

#include "base/random.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kQuad = 4;
constexpr std::int64_t kChunk = 4096 * kQuad;  // elements a thread draws at a time

}  // namespace

HostTensor draw_input(TensorId id, const Problem& problem, const Fill& fill, const Workers& workers) {
  const Shape shape = shape_of(id, problem);
  const std::int64_t elements = shape.elements();
  const auto stream = static_cast<std::uint64_t>(id);
  std::vector<float> values(static_cast<std::size_t>(elements));
  parallel_for((elements + kChunk - 1) / kChunk,
               [&](std::int64_t chunk) {
                 const std::int64_t end = std::min(elements, (chunk + 1) * kChunk);
                 for (std::int64_t first = chunk * kChunk; first < end; first += kQuad) {
                   const auto words =
                       philox_quad(fill.seed, stream, static_cast<std::uint64_t>(first / kQuad));
                   for (std::int64_t i = 0; i < std::min(kQuad, end - first); ++i) {
                     values[first + i] = input_value(words[i], fill.standard_deviation);
                   }
                 }
               },
               workers);
  return tensor_from(values, shape, dtype_of(id, problem));
}

AttentionInputs draw_inputs(const Problem& problem, const Fill& fill, const Workers& workers) {
  const auto draw = [&](TensorId id) { return values_of(draw_input(id, problem, fill, workers)); };
  return {draw(TensorId::q), draw(TensorId::k), draw(TensorId::v), draw(TensorId::d_o)};
}

}  // namespace fmha_bwd
