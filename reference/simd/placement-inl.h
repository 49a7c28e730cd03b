// Where the pairs of one tile stand, and which of them are visible.
#if defined(FMHA_BWD_REFERENCE_SIMD_PLACEMENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_PLACEMENT_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_PLACEMENT_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_PLACEMENT_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/score_terms.h"
#include "reference/simd/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

/// Which side of the pairs lies along the vectors; the other one goes down the rows.
enum class Side { queries, keys };

/// A number for each lane of a tile.
template <typename T, std::int64_t kCount>
struct HWY_ALIGN LaneValues {
  T values[kCount] = {};

  T& operator[](std::int64_t i) { return values[i]; }
  T operator[](std::int64_t i) const { return values[i]; }
  const T* at(std::int64_t i) const { return values + i; }
  T* at(std::int64_t i) { return values + i; }
};

/// Rows of a tile, and the lanes that products, and all that follows from them, are of: those that have a
/// visible pair with these rows are among them. They begin with a panel.
struct Part {
  Range rows;
  Range lanes;
};

template <typename Real, Side kAlong>
class Placement {
 public:
  using D = Tag<Real>;
  static constexpr std::int64_t kOwned = kAlong == Side::queries ? kOwnedQueries : kOwnedKeys;  // lanes

  explicit Placement(const ScoreTerms& terms) : terms_(terms) {}

  void set_lanes(const Rows& lanes) {
    lanes_ = &lanes;
    for (std::int64_t i = 0; i < kOwned; ++i) {
      const bool there = i < lanes.count();
      lane_position_[i] = there ? place(kAlong, lanes, i) : kNowhere;
      if constexpr (kAlong == Side::queries) {
        const Range keys = there ? visible_keys(lanes, i) : Range{};
        lane_begin_[i] = static_cast<Int>(keys.begin);
        lane_end_[i] = static_cast<Int>(keys.end);
      }
    }
  }

  /// Returns whether any pair of the tile may be visible.
  bool set_rows(const Rows& rows) {
    rows_ = &rows;
    const Range all = {0, rows.count()};
    seen_ = lanes_seen_by(all);
    if (seen_.empty()) return false;
    masked_ = !all_visible();
    parts_.clear();
    for (std::int64_t first = 0; first < all.end; first += masked_ ? kPartRows : all.end) {
      add_part({first, masked_ ? std::min(first + kPartRows, all.end) : all.end});
    }
    if (masked_ || terms_.problem.alibi) {
      for (std::int64_t r = 0; r < rows.count(); ++r) {
        row_position_[r] = place(kOther, rows, r);
        if constexpr (kAlong == Side::keys) {
          const Range keys = visible_keys(rows, r);
          row_begin_[r] = static_cast<Int>(keys.begin);
          row_end_[r] = static_cast<Int>(keys.end);
        }
      }
    }
    return true;
  }

  /// All rows of the tile.
  const std::vector<Part>& parts() const { return parts_; }
  /// From the first lane of any part to the last one.
  Range seen() const { return seen_; }

  /// Whether some of the parts' pairs are invisible.
  bool masked() const { return masked_; }

  const Rows& lanes() const { return *lanes_; }
  const Rows& rows() const { return *rows_; }
  const Rows& queries() const { return kAlong == Side::queries ? *lanes_ : *rows_; }
  const Rows& keys() const { return kAlong == Side::queries ? *rows_ : *lanes_; }

  HWY_INLINE hn::Mask<D> visible(std::int64_t r, std::int64_t l) const {
    const DI di;
    if constexpr (kAlong == Side::queries) {
      const auto key = hn::Set(di, row_position_[r]);
      const auto after = hn::Lt(key, hn::Load(di, lane_begin_.at(l)));
      const auto before = hn::Lt(key, hn::Load(di, lane_end_.at(l)));
      return hn::RebindMask(D(), hn::AndNot(after, before));
    } else {
      const auto key = hn::Load(di, lane_position_.at(l));
      const auto after = hn::Lt(key, hn::Set(di, row_begin_[r]));
      const auto before = hn::Lt(key, hn::Set(di, row_end_[r]));
      return hn::RebindMask(D(), hn::AndNot(after, before));
    }
  }

  /// |query + diagonal - key| of the pairs (r, l).
  HWY_INLINE hn::Vec<D> distance(std::int64_t r, std::int64_t l) const {
    const DI di;
    return hn::ConvertTo(D(),
                         hn::Abs(hn::Sub(hn::Load(di, lane_position_.at(l)), hn::Set(di, row_position_[r]))));
  }

 private:
  using DI = hn::RebindToSigned<D>;
  using Int = hn::TFromD<DI>;
  static constexpr Side kOther = kAlong == Side::queries ? Side::keys : Side::queries;
  static constexpr std::int64_t kPartRows = 32;
  static constexpr Int kNowhere = std::numeric_limits<Int>::max() / 4;

  Range visible_keys(const Rows& queries, std::int64_t i) const {
    return terms_.mask_of(queries.sequence).visible_keys(queries.positions[static_cast<std::size_t>(i)]);
  }

  /// A key's position, or that of the key that a query stands at.
  Int place(Side side, const Rows& rows, std::int64_t i) const {
    const std::int64_t position = rows.positions[static_cast<std::size_t>(i)];
    const std::int64_t diagonal = side == Side::queries ? terms_.mask_of(rows.sequence).diagonal() : 0;
    return static_cast<Int>(position + diagonal);
  }

  void add_part(Range rows) {
    const Range lanes = masked_ ? lanes_seen_by(rows) : seen_;
    if (!parts_.empty() && parts_.back().lanes == lanes) {
      parts_.back().rows.end = rows.end;
    } else {
      parts_.push_back({rows, lanes});
    }
  }

  /// The ends of what queries see never move back from one to the next.
  Range lanes_seen_by(Range rows) const {
    const auto row = [&](std::int64_t r) { return rows_->positions[static_cast<std::size_t>(r)]; };
    Range seen = {lanes_->count(), 0};
    const auto add = [&](std::int64_t l) { seen = {std::min(seen.begin, l), l + 1}; };
    if constexpr (kAlong == Side::queries) {
      const auto first_key = static_cast<Int>(row(rows.begin));
      const auto last_key = static_cast<Int>(row(rows.end - 1));
      for (std::int64_t l = 0; l < lanes_->count(); ++l) {
        const bool any = lane_begin_[l] < lane_end_[l];
        if (any && lane_begin_[l] <= last_key && first_key < lane_end_[l]) add(l);
      }
    } else {
      const Range keys = {visible_keys(*rows_, rows.begin).begin, visible_keys(*rows_, rows.end - 1).end};
      for (std::int64_t l = 0; l < lanes_->count(); ++l) {
        if (keys.contains(lanes_->positions[static_cast<std::size_t>(l)])) add(l);
      }
    }
    if (seen.empty()) return {};
    seen.begin = seen.begin / kPanel<Real> * kPanel<Real>;
    return seen;
  }
  /// Of the lanes that are computed, which are whole vectors.
  bool all_visible() const {
    if (seen_.size() % kLanes<Real> != 0) return false;
    if constexpr (kAlong == Side::queries) {
      return lane_begin_[seen_.end - 1] <= keys().positions.front() &&
             lane_end_[seen_.begin] > keys().positions.back();
    } else {
      return visible_keys(queries(), queries().count() - 1).begin <=
                 keys().positions[static_cast<std::size_t>(seen_.begin)] &&
             visible_keys(queries(), 0).end > keys().positions[static_cast<std::size_t>(seen_.end - 1)];
    }
  }

  const ScoreTerms& terms_;
  bool masked_ = true;
  const Rows* lanes_ = nullptr;
  const Rows* rows_ = nullptr;
  Range seen_;
  std::vector<Part> parts_;
  LaneValues<Int, kOwned> lane_position_;  // see place()
  LaneValues<Int, kOwned> lane_begin_;     // the keys that a lane's query sees
  LaneValues<Int, kOwned> lane_end_;
  LaneValues<Int, kTile> row_position_;
  LaneValues<Int, kTile> row_begin_;
  LaneValues<Int, kTile> row_end_;
};

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
