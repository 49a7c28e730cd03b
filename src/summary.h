// Numbers that sum up a tensor.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace fmha_bwd {

/// Least and largest of `values`; both NaN where any value is, 0 where there is none.
Extent extent_of(const std::vector<float>& values);

/// Mean |x|, L2 norm and extent of a gradient's values, summed in double; 0 where there is none. A NaN among
/// them shows in all of them. max_diff_to_no_mask stays empty.
GradientSummary summarize(TensorId id, const std::vector<float>& values);

/// max |a[i] - b[i]|; NaN where any difference is. Throws std::invalid_argument where the sizes differ.
double max_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace fmha_bwd
