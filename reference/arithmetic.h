// What the two implementations of the reference differ in.
#pragma once

#include "base/dtype.h"
#include "base/problem.h"
#include "reference/simd/tiles.h"

namespace fmha_bwd {

/// fp64 is exact: nothing is rounded. fp32 is the textbook's: outputs are rounded to the problem's type.
template <typename Real>
void round_output(const Problem& problem, Real* values, std::int64_t count) {
  if constexpr (sizeof(Real) == sizeof(float)) round_all(problem.dtype, values, count);
}

/// Each of `count` values times `factor`, as an output.
template <typename Real>
void scale_output(const Problem& problem, Real factor, Real* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
  round_output(problem, values, count);
}

/// D of one row: sum of a[c] b[c], in a fixed order.
template <typename Real>
Real dot(const float* a, const Real* b, std::int64_t count) {
  constexpr std::int64_t kSums = 16;
  Real sums[kSums] = {};
  std::int64_t c = 0;
  for (; c + kSums <= count; c += kSums) {
    for (std::int64_t i = 0; i < kSums; ++i) sums[i] += static_cast<Real>(a[c + i]) * b[c + i];
  }
  for (std::int64_t i = 0; c < count; ++c, ++i) sums[i] += static_cast<Real>(a[c]) * b[c];
  Real sum{0};
  for (const Real part : sums) sum += part;
  return sum;
}

}  // namespace fmha_bwd
