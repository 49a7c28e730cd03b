// The vector instruction sets of this CPU, one at a time.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "reference/simd/tiles.h"

namespace fmha_bwd::testing {

/// Computes with this instruction set while it lives.
class WithInstructionSet {
 public:
  explicit WithInstructionSet(const std::string& name) { use_instruction_set(name); }
  ~WithInstructionSet() { use_instruction_set(""); }
  WithInstructionSet(const WithInstructionSet&) = delete;
  WithInstructionSet& operator=(const WithInstructionSet&) = delete;
};

/// Whether its products are fused multiply-adds, so that they have the same bits on all of these.
inline bool is_fused(const std::string& instruction_set) {
  const std::vector<std::string> unfused = {"SSE2", "SSSE3", "SSE4", "EMU128", "SCALAR"};
  return std::find(unfused.begin(), unfused.end(), instruction_set) == unfused.end();
}

}  // namespace fmha_bwd::testing
