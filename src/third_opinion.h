// The device's own fp32 reference, beside the CPU's: the family `plain`, whose code no other family shares.
#pragma once

#include <memory>

#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/result.h"
#include "kernels/backend.h"
#include "reference/inputs.h"
#include "reference/verify.h"
#include "src/outputs.h"

namespace fmha_bwd {

class ThirdOpinion {
 public:
  /// Places the inputs, exactly as they are, in tensors of fp32. Throws Error: unsupported where `plain`
  /// refuses the problem under one of the masks, device_error where the device fails or has no room for both.
  ThirdOpinion(const Problem& problem, const std::vector<MaskSpec>& masks, Backend& backend,
               const AttentionInputs& inputs);

  /// Computes the mask's outputs again and compares all rows with them, by the budgets of the reference, or
  /// of a sample by those of the verdicts that `result` has; not those tensors of which a sample has zeros
  /// alone.
  void compare_with(const Outputs& outputs, const Reference& reference, MaskResult& result);

 private:
  Problem problem_;  // in fp32, bhsd and without padding
  std::unique_ptr<Session> session_;
};

}  // namespace fmha_bwd
