// What the device wrote under one mask.
#pragma once

#include <utility>
#include <vector>

#include "kernels/backend.h"

namespace fmha_bwd {

class Outputs {
 public:
  /// Copies outputs_of(problem) from the device.
  Outputs(Session& session, const Problem& problem);

  /// One of outputs_of(problem); throws std::out_of_range for another.
  const HostTensor& of(TensorId id) const;
  /// The tensors after whose end, or into whose padding, a kernel wrote.
  const std::vector<TensorId>& damaged() const { return damaged_; }
  bool damaged(TensorId id) const;

 private:
  std::vector<TensorId> damaged_;
  std::vector<std::pair<TensorId, HostTensor>> tensors_;
};

}  // namespace fmha_bwd
