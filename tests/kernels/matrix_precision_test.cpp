// Few queries over many keys: P is tiny, and nearly uniform where the scores are. fp16's smallest normal
// number is 6.1e-5, and 1 / 8192 has only a bit more than it; where the scores differ, most of P is
// subnormal, and what is left of P (dP - D) is smaller still. The kernels multiply 2^15 P instead.
#include <gtest/gtest.h>

#include "tests/kernels/matrix_family_test.h"

namespace fmha_bwd {
namespace {

class MatrixPrecision : public MatrixTest {};

TEST_P(MatrixPrecision, IsThatOfFp16WherePIsTinyAndUniform) {
  expect_right_under(problem_of({1, 1, 1, 32, 8192, 64, 64}, DType::fp16), {kNoMask},
                     {.seed = 7, .standard_deviation = 0.1F}, {Layout::bhsd});
}

TEST_P(MatrixPrecision, IsThatOfFp16WherePIsTinyAndUneven) {
  expect_right_under(problem_of({1, 1, 1, 32, 8192, 64, 64}, DType::fp16), {kBottomRight},
                     {.seed = 7, .standard_deviation = 1.0F}, {Layout::bhsd});
}

// Soft-capped scores far from zero: dS has next to nothing left of P (dP - D) in some rows, other rows of
// the same tile have all of it.
TEST_P(MatrixPrecision, IsThatOfFp16WhereASoftCapLeavesNextToNothingOfARowOfDS) {
  Problem problem = problem_of({1, 4, 1, 94, 94, 80, 80}, DType::fp16);
  problem.scale = 0.2236068F;
  problem.softcap = 0.5F;
  problem.bias = BiasShape::full;
  problem.dropout = {0.9F, 3637395252, 2291066318};
  expect_right_under(problem, {kNoMask}, {.seed = 518162716, .standard_deviation = 3.0F}, {Layout::bhsd});
}

std::vector<Device> devices_of_the_three_families() {
  std::vector<Device> some;
  for (const Device& device : matrix_devices()) {
    const bool chosen = device.arch == "gfx942" || device.arch == "gfx90a" || device.arch == "sm_80";
    if (!device.emulated || chosen) some.push_back(device);
  }
  return some;
}

INSTANTIATE_TEST_SUITE_P(Device, MatrixPrecision, testing::ValuesIn(devices_of_the_three_families()),
                         test_name);

}  // namespace
}  // namespace fmha_bwd
