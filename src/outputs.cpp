#include "src/outputs.h"

#include <algorithm>
#include <stdexcept>

namespace fmha_bwd {

Outputs::Outputs(Session& session, const Problem& problem) : damaged_(session.damaged_guards()) {
  for (const TensorId id : outputs_of(problem)) tensors_.emplace_back(id, session.download(id));
}

const HostTensor& Outputs::of(TensorId id) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [id](const auto& entry) { return entry.first == id; });
  if (found == tensors_.end()) throw std::out_of_range("the problem has no such output");
  return found->second;
}

bool Outputs::damaged(TensorId id) const {
  return std::find(damaged_.begin(), damaged_.end(), id) != damaged_.end();
}

}  // namespace fmha_bwd
