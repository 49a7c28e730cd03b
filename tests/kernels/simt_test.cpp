// The simt family against the fp64 reference, on every device.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/kernels/family_test.h"

namespace fmha_bwd {
namespace {

class Simt : public FamilyTest {
 protected:
  Simt() : FamilyTest("simt") {}
};

TEST_P(Simt, IsRightInEveryType) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    expect_right(problem_of({1, 2, 2, 128, 192, 64, 64}, dtype), 1.0F);
  }
}

TEST_P(Simt, IsRightAtTheTailsOfItsTiles) {
  for (const auto& [seqlen_q, seqlen_k] :
       {std::pair{1, 1}, {1, 65}, {65, 1}, {63, 64}, {65, 127}, {130, 33}}) {
    expect_right(problem_of({1, 1, 1, seqlen_q, seqlen_k, 32, 32}, DType::fp16), 1.0F);
  }
}

TEST_P(Simt, IsRightForEveryHeadDimension) {
  for (const std::int64_t hdim : {1, 7, 40, 65, 96, 128, 200, 256, 257, 512}) {
    expect_right(problem_of({1, 1, 1, 40, 50, hdim, hdim}, DType::bf16), 1.0F);
  }
}

TEST_P(Simt, IsRightWhereKeysAndValuesHaveDifferentDimensions) {
  expect_right(problem_of({1, 1, 1, 70, 50, 192, 128}, DType::fp16), 1.0F);
  expect_right(problem_of({1, 1, 1, 70, 50, 24, 100}, DType::fp32), 1.0F);
  expect_right(problem_of({1, 1, 1, 70, 50, 13, 256}, DType::bf16), 1.0F);
  expect_right(problem_of({1, 1, 1, 33, 50, 500, 300}, DType::fp16), 1.0F);
}

TEST_P(Simt, SumsKeyAndValueGradientsOverTheGroup) {
  expect_right(problem_of({2, 4, 2, 66, 80, 80, 80}, DType::fp16), 1.0F);
  expect_right(problem_of({1, 6, 1, 33, 70, 16, 16}, DType::fp32), 1.0F);
}

// Several batches, heads and rows, all different, so that no two strides can stand for one another.
TEST_P(Simt, IsRightWhereRowsOfAHeadAreNotContiguous) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const Extents& shape : {Extents{2, 4, 2, 66, 80, 40, 24}, Extents{2, 6, 3, 33, 70, 13, 21}}) {
      Problem problem = problem_of(shape, dtype);
      problem.layout = Layout::bshd;
      expect_right(problem, 1.0F);
    }
  }
}

TEST_P(Simt, GivesTheSameBitsInEitherLayout) {
  expect_same_bits_in_either_layout(problem_of({2, 4, 2, 66, 80, 72, 24}, DType::fp16));
}

TEST_P(Simt, RefusesRowsThatAreTooFarApart) {
  Problem problem;
  problem.batch = problem.seqlen_q = problem.seqlen_k = 1;
  problem.nhead_q = problem.nhead_k = std::int64_t{1} << 23;
  problem.hdim_q = problem.hdim_v = 256;
  EXPECT_EQ(refusal(problem), std::nullopt);
  problem.layout = Layout::bshd;
  EXPECT_NE(refusal(problem), std::nullopt);
  problem.nhead_q = problem.nhead_k -= 1;
  EXPECT_EQ(refusal(problem), std::nullopt);
}

TEST_P(Simt, IsRightWherePIsNearlyUniform) {
  expect_right(problem_of({1, 2, 2, 64, 64, 128, 128}, DType::fp16), 0.1F);
}

TEST_P(Simt, IsRightWherePIsNearlyOneHot) {
  expect_right(problem_of({1, 1, 1, 80, 96, 64, 64}, DType::bf16), 3.0F);
}

TEST_P(Simt, TakesANegativeAndAZeroScale) {
  for (const float scale : {-0.3F, 0.0F}) {
    Problem problem = problem_of({1, 1, 1, 40, 72, 32, 32}, DType::fp16);
    problem.scale = scale;
    expect_right(problem, 1.0F);
  }
}

TEST_P(Simt, GivesARowThatSeesNoKeyZerosAndMinusInfinity) {
  expect_zeros_in_rows_that_see_no_key(problem_of({1, 1, 1, 128, 64, 32, 32}, DType::fp16));
}

TEST_P(Simt, GivesAKeyThatNoQuerySeesZeroGradients) {
  expect_zeros_in_keys_that_no_query_sees(problem_of({1, 1, 1, 64, 128, 32, 32}, DType::fp16));
}

TEST_P(Simt, SaysHowMuchMemoryAProblemNeedsThatDoesNotFit) {
  Problem problem = problem_of({1024, 1024, 1024, 65536, 65536, 128, 128}, DType::fp16);
  try {
    backend_->open(problem, "simt");
    FAIL() << "opened a session of petabytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::device_error);
    EXPECT_NE(std::string(error.what()).find("are free"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Simt, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
