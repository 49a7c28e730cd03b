// Few queries over many keys: P is tiny, and nearly uniform where the scores are. fp16's smallest normal
// number is 6.1e-5, and 1 / 8192 has only a bit more than it; where the scores differ, most of P is
// subnormal, and what is left of P (dP - D) is smaller still. The kernels multiply 2^15 P instead.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/kernels/matrix_family_test.h"

namespace fmha_bwd {
namespace {

class MatrixPrecision : public MatrixTest {
 protected:
  /// Those of the first of two sequences.
  static std::vector<float> first_half_of(Session& session, TensorId id) {
    std::vector<float> values = values_of(session.download(id));
    values.resize(values.size() / 2);
    return values;
  }
  /// Multiplies the fp16 elements of the second sequence.
  static void enlarge_second_half_of(Session& session, TensorId id, float factor) {
    HostTensor tensor = session.download(id);
    for (std::size_t at = tensor.bytes.size() / 2; at < tensor.bytes.size(); at += sizeof(Half)) {
      Half element{};
      std::memcpy(&element, &tensor.bytes[at], sizeof(Half));
      element = half_from_float(float_from_half(element) * factor);
      std::memcpy(&tensor.bytes[at], &element, sizeof(Half));
    }
    session.upload(id, tensor);
  }
};

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

// Where fp16 is scaled, the scales are those of the largest rows of all sequences.
TEST_P(MatrixPrecision, IsThatOfEachSequenceHoweverLargeTheOthersAre) {
  const Problem problem = problem_of({2, 1, 1, 80, 96, 64, 64}, DType::fp16);
  const auto session = computed(problem, kTopLeft, {.seed = 7, .standard_deviation = 1.0F});
  constexpr std::array kGradients = {TensorId::dq, TensorId::dk, TensorId::dv};
  std::vector<std::vector<float>> alike;
  for (const TensorId id : kGradients) alike.push_back(first_half_of(*session, id));
  for (const TensorId id : {TensorId::v, TensorId::d_o}) enlarge_second_half_of(*session, id, 4096.0F);
  compute(*session, kTopLeft);
  for (std::size_t i = 0; i < kGradients.size(); ++i) {
    const std::vector<float> beside = first_half_of(*session, kGradients[i]);
    for (std::size_t row = 0; row < beside.size(); row += 64) {
      double error = 0.0;
      double size = 0.0;
      for (std::size_t j = row; j < row + 64; ++j) {
        error += std::pow(beside[j] - alike[i][j], 2.0);
        size += std::pow(alike[i][j], 2.0);
      }
      EXPECT_TRUE(std::sqrt(error) <= 4e-3 * std::sqrt(size))
          << name_of(kGradients[i]) << " row " << row / 64 << ": " << std::sqrt(error / size);
    }
  }
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
