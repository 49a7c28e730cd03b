// The families on matrix cores, cdna, rdna and mma, against the fp64 reference: types, lengths, head
// dimensions and layouts.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/kernels/matrix_family_test.h"

namespace fmha_bwd {
namespace {

constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};

class Matrix : public MatrixTest {};

TEST_P(Matrix, IsRightInBothTypes) {
  for (const DType dtype : kTypes) {
    for (const float standard_deviation : {0.1F, 1.0F}) {
      expect_right(problem_of({1, 2, 2, 70, 150, 64, 64}, dtype), standard_deviation);
    }
  }
}

// Tiles are of 16, 32 or 64 queries and of 32, 64 or 128 keys, and blocks of 16.
TEST_P(Matrix, IsRightAtTheTailsOfItsTilesOfQueries) {
  for (const std::int64_t seqlen_q :
       some_of<std::int64_t>({1, 17, 65, 15, 16, 31, 32, 33, 63, 64, 127, 129}, 3)) {
    expect_right(problem_of({1, 1, 1, seqlen_q, 40, 32, 32}, DType::fp16), 1.0F);
  }
}

TEST_P(Matrix, IsRightAtTheTailsOfItsTilesOfKeys) {
  for (const std::int64_t seqlen_k :
       some_of<std::int64_t>({1, 33, 129, 15, 16, 17, 31, 32, 63, 64, 65, 127, 128, 257}, 3)) {
    expect_right(problem_of({1, 1, 1, 20, seqlen_k, 32, 32}, DType::fp16), 1.0F);
  }
}

TEST_P(Matrix, IsRightAtTheTailsOfTheTilesOfLargerHeadDimensions) {
  for (const std::int64_t hdim : {128, 256}) {
    for (const auto& [seqlen_q, seqlen_k] :
         some_of<std::pair<int, int>>({{33, 65}, {1, 129}, {17, 1}, {65, 31}}, 1)) {
      expect_right(problem_of({1, 1, 1, seqlen_q, seqlen_k, hdim, hdim}, DType::fp16), 1.0F);
    }
  }
}

TEST_P(Matrix, IsRightWhereWarpsHaveRoles) {
  if (!GetParam().arch.starts_with("sm_90")) GTEST_SKIP() << "no such kernel";
  for (const DType dtype : kTypes) {
    expect_right(problem_of({1, 4, 2, 200, 300, 128, 128}, dtype), 1.0F);
  }
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{1, 1}, {63, 127}, {65, 129}, {129, 31}, {33, 257}}) {
    Problem problem = problem_of({1, 1, 1, seqlen_q, seqlen_k, 72, 128}, DType::fp16);
    expect_right(problem, 1.0F);
    problem.deterministic = true;
    expect_right_under(problem, masks_from("top_left:20,9,prefix:10"), kFill, {Layout::bshd});
  }
}

TEST_P(Matrix, IsRightForEveryHeadDimension) {
  for (const DType dtype : kTypes) {
    for (const std::int64_t hdim :
         some_of<std::int64_t>({40, 96, 192, 8, 16, 24, 32, 56, 64, 72, 128, 136, 256}, 3)) {
      expect_right_under(problem_of({1, 1, 1, 35, 70, hdim, hdim}, dtype), {kBottomRight}, kFill,
                         {Layout::bhsd});
    }
  }
}

TEST_P(Matrix, IsRightWhereKeysAndValuesHaveDifferentDimensions) {
  for (const auto& [hdim_q, hdim_v] :
       some_of<std::pair<int, int>>({{192, 128}, {24, 104}, {64, 32}, {8, 64}, {128, 64}, {96, 256}}, 2)) {
    expect_right_under(problem_of({1, 1, 1, 40, 70, hdim_q, hdim_v}, DType::fp16), {kTopLeft}, kFill,
                       {Layout::bhsd, Layout::bshd});
  }
}

TEST_P(Matrix, SumsKeyAndValueGradientsOverTheGroup) {
  expect_right(problem_of({2, 4, 2, 66, 80, 40, 40}, DType::fp16), 1.0F);
  if (takes_all()) expect_right(problem_of({1, 6, 1, 33, 150, 16, 16}, DType::bf16), 1.0F);
}

// Several batches, heads and rows, all different, so that no two strides can stand for one another.
TEST_P(Matrix, IsRightWhereRowsOfAHeadAreNotContiguous) {
  for (const Extents& shape : some_of<Extents>({{2, 4, 2, 66, 80, 40, 24}, {2, 6, 3, 33, 70, 16, 72}}, 1)) {
    Problem problem = problem_of(shape, DType::fp16);
    problem.layout = Layout::bshd;
    expect_right(problem, 1.0F);
  }
}

TEST_P(Matrix, GivesTheSameBitsInEitherLayout) {
  expect_same_bits_in_either_layout(problem_of({2, 4, 2, 66, 80, 72, 24}, DType::fp16));
}

TEST_P(Matrix, TakesQKVInOneTensor) {
  for (const DType dtype : some_of<DType>({DType::fp16, DType::bf16}, 1)) {
    Problem problem = problem_of({2, 2, 1, 70, 70, 40, 40}, dtype);
    problem.layout = Layout::qkv;
    expect_right(problem, 1.0F);
    make_grouped(problem, {3, 0, 70}, {3, 0, 70});
    expect_right(problem, 1.0F);
    problem.padded_q = problem.padded_k = {5, 2, 70};
    expect_right_under(problem, {kTopLeft}, kFill, {Layout::qkv});
  }
}

// No query looks at most of the keys: their P and dS are tiny.
TEST_P(Matrix, IsRightWherePIsNearlyOneHot) {
  for (const DType dtype : kTypes) expect_right(problem_of({1, 1, 1, 80, 96, 64, 64}, dtype), 3.0F);
}

TEST_P(Matrix, TakesANegativeAndAZeroScale) {
  for (const float scale : {-0.3F, 0.0F}) {
    Problem problem = problem_of({1, 1, 1, 40, 72, 32, 32}, DType::fp16);
    problem.scale = scale;
    expect_right(problem, 1.0F);
  }
}

TEST_P(Matrix, GivesARowThatSeesNoKeyZerosAndMinusInfinity) {
  for (const std::int64_t hdim : {32, 256}) {
    expect_zeros_in_rows_that_see_no_key(problem_of({1, 1, 1, 128, 64, hdim, hdim}, DType::fp16));
  }
}

TEST_P(Matrix, GivesAKeyThatNoQuerySeesZeroGradients) {
  for (const std::int64_t hdim : {32, 256}) {
    expect_zeros_in_keys_that_no_query_sees(problem_of({1, 1, 1, 64, 200, hdim, hdim}, DType::fp16));
  }
}

// With one key P is 1, O is V, dP is D, and so dV is the sum of dO and dQ and dK are nothing but the
// difference of two sums of the same products.
TEST_P(Matrix, GivesTheOnlyKeyTheSumOfAllDO) {
  const auto session = computed(problem_of({1, 1, 1, 40, 1, 64, 64}, DType::fp16), kNoMask,
                                {.seed = 3, .standard_deviation = 1.0F, .d_o_is_one = true});
  for (const float x : values_of(session->download(TensorId::dv))) EXPECT_EQ(x, 40.0F);
  EXPECT_TRUE(session->download(TensorId::o).bytes == [&] {
    const HostTensor v = session->download(TensorId::v);
    HostTensor o = session->download(TensorId::o);
    for (std::size_t i = 0; i < o.bytes.size(); ++i) o.bytes[i] = v.bytes[i % v.bytes.size()];
    return o.bytes;
  }());
  for (const TensorId id : {TensorId::dq, TensorId::dk}) {
    for (const float x : values_of(session->download(id))) EXPECT_LE(std::abs(x), 1e-3F) << name_of(id);
  }
}

// With one key the LSE is its score, here about 0.01, to all of its bits.
TEST_P(Matrix, GivesTheScoreOfTheOnlyKeyAsLse) {
  for (const DType dtype : kTypes) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      expect_right_under(problem_of({2, 3, 3, 1, 1, 8, 8}, dtype), {kNoMask}, {.seed = seed}, {Layout::bhsd});
    }
  }
}

TEST_P(Matrix, SaysHowMuchMemoryAProblemNeedsThatDoesNotFit) {
  try {
    backend_->open(problem_of({1024, 16, 16, 65536, 65536, 128, 128}, DType::fp16), family_);
    FAIL() << "opened a session of terabytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::device_error);
    EXPECT_NE(std::string(error.what()).find("are free"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Matrix, testing::ValuesIn(matrix_devices()), test_name);

}  // namespace
}  // namespace fmha_bwd
