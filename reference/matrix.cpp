#include "reference/matrix.h"

// Compiled for several vector widths, the widest that the CPU has is taken when the program starts. Without
// contraction into fused multiply-adds (the whole project is built so) every width gives the same bits.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define FMHA_BWD_WIDEST_VECTORS __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define FMHA_BWD_WIDEST_VECTORS
#endif

namespace fmha_bwd {
namespace {

/// Where A's element (m, k) lies: data[m * row_stride + k * column_stride].
template <typename Real>
struct Strided {
  const Real* data;
  std::int64_t row_stride;
  std::int64_t column_stride;

  [[gnu::always_inline]] Real at(std::int64_t m, std::int64_t k) const {
    return data[m * row_stride + k * column_stride];
  }
};

/// Four terms of every sum at a time: C is loaded and stored a quarter as often, and four rows of B stay in
/// the first-level cache while all of C passes by.
template <typename Real>
[[gnu::always_inline]] inline void accumulate(Strided<Real> a, const Matrix<Real>& b, Matrix<Real>& c) {
  const std::int64_t columns = c.columns;
  std::int64_t k = 0;
  for (; k + 4 <= b.rows; k += 4) {
    const Real* __restrict b0 = b.row(k);
    const Real* __restrict b1 = b.row(k + 1);
    const Real* __restrict b2 = b.row(k + 2);
    const Real* __restrict b3 = b.row(k + 3);
    for (std::int64_t m = 0; m < c.rows; ++m) {
      Real* __restrict sum = c.row(m);
      const Real a0 = a.at(m, k);
      const Real a1 = a.at(m, k + 1);
      const Real a2 = a.at(m, k + 2);
      const Real a3 = a.at(m, k + 3);
      for (std::int64_t n = 0; n < columns; ++n) {
        sum[n] = (((sum[n] + a0 * b0[n]) + a1 * b1[n]) + a2 * b2[n]) + a3 * b3[n];
      }
    }
  }
  for (; k < b.rows; ++k) {
    const Real* __restrict term = b.row(k);
    for (std::int64_t m = 0; m < c.rows; ++m) {
      Real* __restrict sum = c.row(m);
      const Real factor = a.at(m, k);
      for (std::int64_t n = 0; n < columns; ++n) sum[n] += factor * term[n];
    }
  }
}

template <typename Real>
Strided<Real> plain(const Matrix<Real>& a) {
  return {a.elements.data(), a.columns, 1};
}

template <typename Real>
Strided<Real> flipped(const Matrix<Real>& a) {
  return {a.elements.data(), 1, a.columns};
}

}  // namespace

FMHA_BWD_WIDEST_VECTORS
void multiply_add(const Matrix<double>& a, const Matrix<double>& b, Matrix<double>& c) {
  accumulate(plain(a), b, c);
}
FMHA_BWD_WIDEST_VECTORS
void multiply_add(const Matrix<float>& a, const Matrix<float>& b, Matrix<float>& c) {
  accumulate(plain(a), b, c);
}
FMHA_BWD_WIDEST_VECTORS
void multiply_transposed_add(const Matrix<double>& a, const Matrix<double>& b, Matrix<double>& c) {
  accumulate(flipped(a), b, c);
}
FMHA_BWD_WIDEST_VECTORS
void multiply_transposed_add(const Matrix<float>& a, const Matrix<float>& b, Matrix<float>& c) {
  accumulate(flipped(a), b, c);
}

}  // namespace fmha_bwd
