// The inputs of a run: drawn at random, or loaded from a folder.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "reference/inputs.h"
#include "src/options.h"

namespace fmha_bwd {

class RunInputs {
 public:
  /// Reads the tensors that options.load's folder has of the problem's inputs and ALiBi's slopes. Throws
  /// Error (bad_usage) where one is not of the problem's shape and type or not finite, and where there is
  /// none.
  explicit RunInputs(const Options& options);

  /// Draws the inputs on the device and puts the loaded ones in their place.
  void place_in(Session& session) const;

  /// Of the bits that are on the device.
  std::uint64_t checksum(Session& session) const;

  /// The same checksum, after a look that what was drawn is what the CPU draws; takes the values for the
  /// reference. Without `for_reference`, neither. Throws Error: wrong_numbers where the device drew something
  /// else, bad_usage where the type cannot hold the values.
  std::uint64_t check(Session& session, bool for_reference);

  /// After check(.., true).
  const AttentionInputs& values() const { return values_; }
  /// Those that were not drawn.
  std::vector<TensorId> loaded() const;

 private:
  bool is_loaded(TensorId id) const;

  const Options& options_;
  std::vector<std::pair<TensorId, HostTensor>> loaded_;
  AttentionInputs values_;
};

}  // namespace fmha_bwd
