#include "src/determinism.h"

#include <algorithm>

namespace fmha_bwd {
namespace {

std::vector<HostTensor> gradients_after_a_pass(Session& session, const Problem& problem,
                                               const MaskSpec& mask) {
  session.poison_outputs();
  session.forward(mask);
  session.backward(mask);
  std::vector<HostTensor> gradients;
  for (const TensorId id : gradients_of(problem)) gradients.push_back(session.download(id));
  return gradients;
}

float value_at(const HostTensor& tensor, std::int64_t element) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
  const auto begin = tensor.bytes.begin() + element * size;
  return values_of({tensor.dtype, {1, 1, 1, 1}, {begin, begin + size}}).front();
}

}  // namespace

std::optional<Difference> difference_between(TensorId id, const HostTensor& first, const HostTensor& other) {
  const auto size = static_cast<std::int64_t>(size_of(first.dtype));
  const auto differs = [&](std::int64_t element) {
    const auto begin = first.bytes.begin() + element * size;
    return !std::equal(begin, begin + size, other.bytes.begin() + element * size);
  };
  std::optional<Difference> difference;
  for (std::int64_t element = 0; element < first.shape.elements(); ++element) {
    if (!differs(element)) continue;
    if (!difference) {
      difference.emplace();
      difference->id = id;
      difference->index = first.shape.index_of(element);
      difference->first = value_at(first, element);
      difference->other = value_at(other, element);
    }
    ++difference->elements;
  }
  return difference;
}

Determinism check_determinism(Session& session, const Problem& problem, const MaskSpec& mask,
                              std::int64_t runs, const std::function<void(double)>& progress) {
  Determinism result{runs, problem.deterministic, std::nullopt};
  const std::vector<TensorId> ids = gradients_of(problem);
  const std::vector<HostTensor> first = gradients_after_a_pass(session, problem, mask);
  for (std::int64_t run = 1; run < runs && !result.difference; ++run) {
    progress(static_cast<double>(run) / static_cast<double>(runs));
    const std::vector<HostTensor> other = gradients_after_a_pass(session, problem, mask);
    for (std::size_t i = 0; i < ids.size() && !result.difference; ++i) {
      result.difference = difference_between(ids[i], first[i], other[i]);
      if (result.difference) result.difference->run = run;
    }
  }
  return result;
}

}  // namespace fmha_bwd
