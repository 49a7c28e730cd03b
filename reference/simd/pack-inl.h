// A tile's operands in the order in which products read them.
#if defined(FMHA_BWD_REFERENCE_SIMD_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_PACK_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_PACK_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_PACK_INL_H_
#endif

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>

#include "base/divided_up.h"
#include "reference/score_terms.h"
#include "reference/simd/product-inl.h"
#include "reference/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

template <typename Real>
hwy::AlignedFreeUniquePtr<Real[]> Allocate(std::int64_t count) {
  auto memory = hwy::AllocateAligned<Real>(static_cast<std::size_t>(count));
  if (!memory) throw std::bad_alloc();
  std::fill_n(memory.get(), count, Real{0});
  return memory;
}

/// A vector of the numbers at `source`.
template <typename Real>
HWY_INLINE hn::Vec<Tag<Real>> LoadFloats(const float* HWY_RESTRICT source) {
  const Tag<Real> d;
  const auto values = hn::LoadU(hn::Rebind<float, Tag<Real>>(), source);
  if constexpr (sizeof(Real) == sizeof(float)) {
    return values;
  } else {
    return hn::PromoteTo(d, values);
  }
}

/// target[c] = source[c]; the target is aligned.
template <typename Real>
HWY_INLINE void Convert(const float* HWY_RESTRICT source, std::int64_t count, Real* HWY_RESTRICT target) {
  std::int64_t c = 0;
  for (; c + kLanes<Real> <= count; c += kLanes<Real>) {
    hn::Store(LoadFloats<Real>(source + c), Tag<Real>(), target + c);
  }
  for (; c < count; ++c) target[c] = static_cast<Real>(source[c]);
}

/// As many columns as rows, both a vector's lanes: column c goes to target + c * stride, which is aligned.
/// Row r is at rows[r], or zero where that is null.
///
/// Each round takes the even and the odd lanes of pairs of vectors apart. That rotates the bits of an
/// element's place, the row's before the lane's, by one, so that after half as many rounds as there are bits
/// rows and lanes have changed places.
template <typename Real>
HWY_INLINE void Transpose(const float* const* rows, std::int64_t first_column, Real* HWY_RESTRICT target,
                          std::int64_t stride) {
  const Tag<Real> d;
  constexpr std::int64_t kSize = kLanes<Real>;
  hn::Vec<Tag<Real>> now[kSize];
  HWY_UNROLL(16)
  for (std::int64_t r = 0; r < kSize; ++r) {
    now[r] = rows[r] ? LoadFloats<Real>(rows[r] + first_column) : hn::Zero(d);
  }
#if HWY_TARGET != HWY_SCALAR
  HWY_UNROLL(4)
  for (std::int64_t round = 1; round < kSize; round *= 2) {
    hn::Vec<Tag<Real>> next[kSize];
    HWY_UNROLL(8)
    for (std::int64_t r = 0; r < kSize / 2; ++r) {
      next[r] = hn::ConcatEven(d, now[2 * r + 1], now[2 * r]);
      next[r + kSize / 2] = hn::ConcatOdd(d, now[2 * r + 1], now[2 * r]);
    }
    HWY_UNROLL(16)
    for (std::int64_t r = 0; r < kSize; ++r) now[r] = next[r];
  }
#endif
  HWY_UNROLL(16)
  for (std::int64_t c = 0; c < kSize; ++c) hn::Store(now[c], d, target + c * stride);
}

/// Up to kRows rows in panels of columns: an operand A or B, or a C.
template <typename Real, std::int64_t kRows>
class RowPanels {
 public:
  explicit RowPanels(std::int64_t columns)
      : columns_(columns), memory_(Allocate<Real>(divided_up(columns, kPanel<Real>) * kStride)) {}

  std::int64_t columns() const { return columns_; }
  Panels<Real> panels() { return {memory_.get(), kPanel<Real>, kStride}; }
  Panels<const Real> operand() const {
    if (direct_) return {direct_, columns_, kPanel<Real>};
    return {memory_.get(), kPanel<Real>, kStride};
  }
  Factor<Real> factor() const {
    if (direct_) return {direct_, columns_, 1, columns_, 0};
    return {memory_.get(), kPanel<Real>, 1, kPanel<Real>, kStride};
  }

  void clear() { std::fill_n(memory_.get(), divided_up(columns_, kPanel<Real>) * kStride, Real{0}); }

  /// The rows of a tensor with as many columns. The kTile rows after those are on their way to the cache
  /// then.
  void load(std::span<const float> tensor, const Rows& rows) {
    direct_ = nullptr;
    for (std::int64_t i = 0; i < rows.count(); ++i) {
      const float* source = tensor.data() + rows.row(i) * columns_;
      if (static_cast<std::size_t>((rows.row(i) + kTile) * columns_) < tensor.size()) {
        for (std::int64_t c = 0; c < columns_; c += kFloatsOfALine) {
          __builtin_prefetch(source + kTile * columns_ + c, 0, 2);
        }
      }
      for_runs([&](std::int64_t first, std::int64_t length, Real* panel) {
        Convert(source + first, length, panel + i * kPanel<Real>);
      });
    }
  }

  /// The same, but where they are in memory if products can read them there: for a factor that is read once.
  void view(std::span<const float> tensor, const Rows& rows) {
    if constexpr (sizeof(Real) == sizeof(float)) {
      const bool follow_one_another = rows.positions.back() - rows.positions.front() + 1 == rows.count();
      if (columns_ % kLanes<Real> == 0 && follow_one_another) {
        direct_ = tensor.data() + rows.row(0) * columns_;
        return;
      }
    }
    load(tensor, rows);
  }

  /// The first `count` rows, without padding.
  void store(std::int64_t count, Real* rows) const {
    for_runs([&](std::int64_t first, std::int64_t length, const Real* panel) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::copy_n(panel + i * kPanel<Real>, length, rows + i * columns_ + first);
      }
    });
  }

  void scale_row(std::int64_t i, Real factor) {
    const Tag<Real> d;
    for_runs([&](std::int64_t, std::int64_t, Real* panel) {
      Real* row = panel + i * kPanel<Real>;
      HWY_UNROLL(4)
      for (std::int64_t c = 0; c < kPanel<Real>; c += kLanes<Real>) {
        hn::Store(hn::Mul(hn::Load(d, row + c), hn::Set(d, factor)), d, row + c);
      }
    });
  }

 private:
  static constexpr std::int64_t kStride = kRows * kPanel<Real>;
  static constexpr std::int64_t kFloatsOfALine = 16;

  /// visit(first column, columns, panel) for each panel.
  template <typename Visit>
  void for_runs(const Visit& visit) const {
    Real* panel = memory_.get();
    for (std::int64_t first = 0; first < columns_; first += kPanel<Real>, panel += kStride) {
      visit(first, std::min(kPanel<Real>, columns_ - first), panel);
    }
  }

  std::int64_t columns_;
  const Real* direct_ = nullptr;
  hwy::AlignedFreeUniquePtr<Real[]> memory_;
};

/// kRows rows along the vectors, in panels of rows: the operand B of a product whose sums go along the
/// columns. Rows that are not there are zero.
template <typename Real, std::int64_t kRows>
class ColumnPanels {
 public:
  explicit ColumnPanels(std::int64_t columns) : columns_(columns), memory_(Allocate<Real>(columns * kRows)) {
    static_assert(kRows % kPanel<Real> == 0);
  }

  std::int64_t columns() const { return columns_; }
  Panels<const Real> operand() const { return {memory_.get(), kPanel<Real>, columns_ * kPanel<Real>}; }

  void load(std::span<const float> tensor, const Rows& rows) {
    for (std::int64_t first = 0; first < kRows; first += kLanes<Real>) {
      const float* sources[kLanes<Real>];
      for (std::int64_t i = 0; i < kLanes<Real>; ++i) {
        sources[i] = first + i < rows.count() ? tensor.data() + rows.row(first + i) * columns_ : nullptr;
      }
      Real* lanes = memory_.get() + first / kPanel<Real> * columns_ * kPanel<Real> + first % kPanel<Real>;
      std::int64_t c = 0;
      for (; c + kLanes<Real> <= columns_; c += kLanes<Real>) {
        Transpose(sources, c, lanes + c * kPanel<Real>, kPanel<Real>);
      }
      for (; c < columns_; ++c) {
        for (std::int64_t i = 0; i < kLanes<Real>; ++i) {
          lanes[c * kPanel<Real> + i] = sources[i] ? static_cast<Real>(sources[i][c]) : Real{0};
        }
      }
    }
  }

 private:
  std::int64_t columns_;
  hwy::AlignedFreeUniquePtr<Real[]> memory_;
};

/// kTile x kColumns numbers: of the pairs of the rows that pass by and those of a tile's owner. Rows are an
/// odd number of cache lines apart, so that a column spreads over all sets of the first-level cache.
template <typename Real, std::int64_t kColumns>
class PairNumbers {
 public:
  static constexpr std::int64_t kStride =
      kColumns + std::max(kLanes<Real>, kVectorBytes / static_cast<std::int64_t>(sizeof(Real)));

  Real* row(std::int64_t r) { return memory_.get() + r * kStride; }
  const Real* row(std::int64_t r) const { return memory_.get() + r * kStride; }
  Panels<Real> panels() { return {memory_.get(), kStride, kPanel<Real>}; }
  /// A[m, k] from number (r, c) on, with m along the rows, or along the columns.
  Factor<Real> by_row(std::int64_t r, std::int64_t c) const { return {row(r) + c, kStride, 1, kColumns, 0}; }
  Factor<Real> by_column(std::int64_t r, std::int64_t c) const { return {row(r) + c, 1, kStride, kTile, 0}; }

 private:
  hwy::AlignedFreeUniquePtr<Real[]> memory_ = Allocate<Real>(kTile * kStride);
};

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
