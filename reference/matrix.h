// Small dense matrices and the one product that the reference is made of.
#pragma once

#include <cstdint>
#include <vector>

namespace fmha_bwd {

/// Row-major, contiguous, zero at first.
template <typename Real>
struct Matrix {
  Matrix() = default;
  Matrix(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count), columns(column_count), elements(static_cast<std::size_t>(rows * columns)) {}

  Real* row(std::int64_t i) { return elements.data() + i * columns; }
  const Real* row(std::int64_t i) const { return elements.data() + i * columns; }

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<Real> elements;
};

/// A copy with rows and columns exchanged.
template <typename Real>
Matrix<Real> transposed(const Matrix<Real>& a) {
  Matrix<Real> result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) result.row(j)[i] = a.row(i)[j];
  }
  return result;
}

/// C[m, n] += A[m, k] B[k, n]. Each element of C sums its terms one after the other, in the order of k: the
/// inner loop goes along n, so that it vectorizes without reordering a sum.
void multiply_add(const Matrix<double>& a, const Matrix<double>& b, Matrix<double>& c);
void multiply_add(const Matrix<float>& a, const Matrix<float>& b, Matrix<float>& c);

/// C[m, n] += A^T B for A[k, m], B[k, n]; otherwise as multiply_add.
void multiply_transposed_add(const Matrix<double>& a, const Matrix<double>& b, Matrix<double>& c);
void multiply_transposed_add(const Matrix<float>& a, const Matrix<float>& b, Matrix<float>& c);

}  // namespace fmha_bwd
