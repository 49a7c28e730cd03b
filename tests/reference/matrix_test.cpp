#include "reference/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;

template <typename Real>
Matrix<Real> matrix(std::int64_t rows, std::int64_t columns, std::vector<Real> elements) {
  Matrix<Real> result(rows, columns);
  result.elements = std::move(elements);
  return result;
}

TEST(Matrix, ProductsAreAddedToWhatIsThere) {
  const auto a = matrix<double>(2, 3, {1, 2, 3, 4, 5, 6});
  const auto b = matrix<double>(3, 2, {7, 8, 9, 10, 11, 12});
  auto c = matrix<double>(2, 2, {1000, 0, 0, 2000});
  multiply_add(a, b, c);
  EXPECT_THAT(c.elements, ElementsAre(1058, 64, 139, 2154));
}

TEST(Matrix, ATransposedFactorGivesTheProductOfItsTranspose) {
  const auto a = matrix<float>(3, 2, {1, 4, 2, 5, 3, 6});
  const auto b = matrix<float>(3, 2, {7, 8, 9, 10, 11, 12});
  Matrix<float> c(2, 2);
  multiply_transposed_add(a, b, c);
  EXPECT_THAT(c.elements, ElementsAre(58, 64, 139, 154));
}

TEST(Matrix, TransposedExchangesRowsAndColumns) {
  const auto t = transposed(matrix<float>(2, 3, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(t.rows, 3);
  EXPECT_EQ(t.columns, 2);
  EXPECT_THAT(t.elements, ElementsAre(1, 4, 2, 5, 3, 6));
}

/// Integers, so that every sum is exact.
Matrix<double> integers(std::int64_t rows, std::int64_t columns, std::int64_t seed) {
  Matrix<double> result(rows, columns);
  for (double& x : result.elements) x = static_cast<double>((seed = (seed * 75 + 74) % 65537) % 19 - 9);
  return result;
}

TEST(Matrix, ProductsOfEveryDepthAndOddShapesAreExactOnIntegers) {
  for (std::int64_t depth = 1; depth < 14; ++depth) {
    const Matrix<double> a = integers(5, depth, 1);
    const Matrix<double> b = integers(depth, 7, 2);
    Matrix<double> c(5, 7);
    Matrix<double> c_from_transposed(5, 7);
    multiply_add(a, b, c);
    multiply_transposed_add(transposed(a), b, c_from_transposed);
    for (std::int64_t m = 0; m < 5; ++m) {
      for (std::int64_t n = 0; n < 7; ++n) {
        double expected = 0.0;
        for (std::int64_t k = 0; k < depth; ++k) expected += a.row(m)[k] * b.row(k)[n];
        EXPECT_EQ(c.row(m)[n], expected) << depth;
      }
    }
    EXPECT_EQ(c.elements, c_from_transposed.elements);
  }
}

TEST(Matrix, SumsTakeTheirTermsInOrder) {
  // 1e8 + 1 - 1e8 in fp32 is 0 from the left and 1 in any other grouping of the large terms.
  const auto a = matrix<float>(1, 4, {1e8F, 1.0F, -1e8F, 0.0F});
  const auto ones = matrix<float>(4, 1, {1, 1, 1, 1});
  Matrix<float> c(1, 1);
  multiply_add(a, ones, c);
  EXPECT_EQ(c.elements[0], 0.0F);
}

}  // namespace
}  // namespace fmha_bwd
