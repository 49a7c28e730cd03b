// The one product that the reference is made of, C[m, n] += sum over k of A[m, k] B[k, n], for tiles that lie
// in the caches.
//
// A block of kBlockRows x kBlockVectors accumulators stays in registers while k goes by: each step loads
// kBlockVectors vectors of B, broadcasts kBlockRows elements of A and does a fused multiply-add with every
// pair. With 24 accumulators (32 registers) that is ten loads for 24 multiply-adds, which two multiply-adds
// and two loads a cycle hide; with 12 (16 registers) eight for 12.
//
// B and C are cut into panels of kBlockVectors vectors, so that a panel of B is read in the order in which it
// lies in memory. Every element of C sums its terms in the order of k, by fused multiply-adds where the CPU
// has them: the bits do not depend on the width of the vectors.
#if defined(FMHA_BWD_REFERENCE_SIMD_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_PRODUCT_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_PRODUCT_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_PRODUCT_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Real>
using Tag = hn::ScalableTag<Real>;

/// Elements of a vector.
template <typename Real>
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(HWY_LANES(Real));

inline constexpr int kBlockRows = 6;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kBlockVectors = 4;
#else
inline constexpr int kBlockVectors = 2;
#endif

/// Columns of a panel.
template <typename Real>
inline constexpr std::int64_t kPanel = kBlockVectors* kLanes<Real>;

/// A[m, k] = data[m * row + (k / part) * part_stride + (k % part) * column].
template <typename Real>
struct Factor {
  const Real* data;
  std::int64_t row;
  std::int64_t column;
  std::int64_t part;
  std::int64_t part_stride;
};

/// B or C: [m, n] = data[(n / kPanel) * panel + m * row + n % kPanel], aligned to vectors.
template <typename Real>
struct Panels {
  Real* data;
  std::int64_t row;
  std::int64_t panel;
};

/// The same without the first rows, or the first columns.
template <typename Real>
Factor<Real> SkipRows(Factor<Real> a, std::int64_t rows) {
  a.data += rows * a.row;
  return a;
}
template <typename Real>
Panels<Real> SkipRows(Panels<Real> c, std::int64_t rows) {
  c.data += rows * c.row;
  return c;
}
template <typename Real>
Panels<Real> SkipPanels(Panels<Real> c, std::int64_t panels) {
  c.data += panels * c.panel;
  return c;
}

template <int kRows, int kVectors, bool kAdd, typename Real>
HWY_INLINE void MultiplyBlock(const Factor<Real>& a, const Real* HWY_RESTRICT a_row, std::int64_t depth,
                              const Real* HWY_RESTRICT b, std::int64_t b_row, Real* HWY_RESTRICT c,
                              std::int64_t c_row) {
  const Tag<Real> d;
  hn::Vec<Tag<Real>> sum[kRows][kVectors];
  HWY_UNROLL(6)
  for (int m = 0; m < kRows; ++m) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      sum[m][v] = kAdd ? hn::Load(d, c + m * c_row + v * kLanes<Real>) : hn::Zero(d);
  }
  if constexpr (kAdd) {  // the next block's sums, while this one's grow
    HWY_UNROLL(6)
    for (int m = kRows; m < 2 * kRows; ++m) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) hwy::Prefetch(c + m * c_row + v * kLanes<Real>);
    }
  }
  for (std::int64_t begin = 0; begin < depth; begin += a.part) {
    const std::int64_t steps = depth - begin < a.part ? depth - begin : a.part;
    const Real* HWY_RESTRICT element = a_row;
    HWY_UNROLL(2)
    for (std::int64_t k = 0; k < steps; ++k) {
      hn::Vec<Tag<Real>> term[kVectors];
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) term[v] = hn::LoadU(d, b + v * kLanes<Real>);
      HWY_UNROLL(6)
      for (int m = 0; m < kRows; ++m) {
        const auto factor = hn::Set(d, element[m * a.row]);
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) sum[m][v] = hn::MulAdd(factor, term[v], sum[m][v]);
      }
      element += a.column;
      b += b_row;
    }
    a_row += a.part_stride;
  }
  HWY_UNROLL(6)
  for (int m = 0; m < kRows; ++m) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[m][v], d, c + m * c_row + v * kLanes<Real>);
  }
}

/// The last rows of a panel, fewer than a block's.
template <int kRows, int kVectors, bool kAdd, typename Real>
HWY_INLINE void MultiplyRest(const Factor<Real>& a, std::int64_t rows, std::int64_t m, std::int64_t depth,
                             const Real* b, std::int64_t b_row, Real* c, std::int64_t c_row) {
  if constexpr (kRows > 0) {
    if (rows - m == kRows) {
      MultiplyBlock<kRows, kVectors, kAdd>(a, a.data + m * a.row, depth, b, b_row, c + m * c_row, c_row);
    } else {
      MultiplyRest<kRows - 1, kVectors, kAdd>(a, rows, m, depth, b, b_row, c, c_row);
    }
  }
}

template <int kVectors, bool kAdd, typename Real>
HWY_NOINLINE void MultiplyPanel(const Factor<Real>& a, std::int64_t rows, std::int64_t depth, const Real* b,
                                std::int64_t b_row, Real* c, std::int64_t c_row) {
  std::int64_t m = 0;
  for (; m + kBlockRows <= rows; m += kBlockRows) {
    MultiplyBlock<kBlockRows, kVectors, kAdd>(a, a.data + m * a.row, depth, b, b_row, c + m * c_row, c_row);
  }
  MultiplyRest<kBlockRows - 1, kVectors, kAdd>(a, rows, m, depth, b, b_row, c, c_row);
}

/// C[rows, columns] = A B, or += A B where kAdd; `depth` terms a sum. Columns beyond the last are computed up
/// to a whole vector.
template <bool kAdd, typename Real>
void Multiply(const Factor<Real>& a, std::int64_t rows, std::int64_t depth, const Panels<const Real>& b,
              std::int64_t columns, const Panels<Real>& c) {
  const Real* b_panel = b.data;
  Real* c_panel = c.data;
  for (std::int64_t n = 0; n < columns; n += kPanel<Real>, b_panel += b.panel, c_panel += c.panel) {
    switch ((columns - n + kLanes<Real> - 1) / kLanes<Real>) {
      case 1:
        MultiplyPanel<1, kAdd>(a, rows, depth, b_panel, b.row, c_panel, c.row);
        break;
      case 2:
        MultiplyPanel<2, kAdd>(a, rows, depth, b_panel, b.row, c_panel, c.row);
        break;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
      case 3:
        MultiplyPanel<3, kAdd>(a, rows, depth, b_panel, b.row, c_panel, c.row);
        break;
#endif
      default:
        MultiplyPanel<kBlockVectors, kAdd>(a, rows, depth, b_panel, b.row, c_panel, c.row);
    }
  }
}

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
