// The kernels on matrix cores as they are in the project, but for one barrier, or one wait for copies.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/problem.h"
#include "kernels/family.h"

namespace fmha_bwd {

/// One kernel of one family.
struct MatrixKernel {
  std::string name;
  const char* arch;
  Problem problem;  // several tiles for one workgroup
  void (*launch)(const Problem&, const emulator::DeviceTensors&);
};

std::vector<MatrixKernel> matrix_kernels();

// GoogleTest prints parameters with it.
inline void PrintTo(const MatrixKernel& kernel, std::ostream* out) { *out << kernel.name; }

}  // namespace fmha_bwd
