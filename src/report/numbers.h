// Numbers as the reports write them. Infinities and NaN read "inf", "-inf" and "nan".
#pragma once

#include <string>

#include "base/result.h"

namespace fmha_bwd {

/// The shortest decimal that reads back as `x`.
std::string exact(double x);
std::string exact(float x);

/// How the table writes numbers: rounded, or with `full` exactly.
struct Numbers {
  bool full = false;

  /// "1.234e-05"; zero is "0".
  std::string scientific(double x) const;
  /// "[-1.234e-05, 6.789e-04]".
  std::string extent(const Extent& extent) const;
  /// A share of one: "66.93%" with two decimals.
  std::string percent(double share, int decimals) const;
  /// Milliseconds to a tenth of a microsecond where they are few.
  std::string milliseconds(double ms) const;
  /// Four significant digits; three and an exponent for less than a hundredth.
  std::string rate(double x) const;
};

}  // namespace fmha_bwd
