// The pairs of one tile, from the products Q K^T and dO V^T to P * Z and dX: reference/attention.h has the
// formulas.
#if defined(FMHA_BWD_REFERENCE_SIMD_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_PAIRS_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_PAIRS_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_PAIRS_INL_H_
#endif

#include <cmath>
#include <limits>
#include <type_traits>

#include "reference/simd/functions-inl.h"
#include "reference/simd/pack-inl.h"
#include "reference/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

/// Which side of the pairs lies along the vectors; the other one goes down the rows.
enum class Side { queries, keys };

/// A number for each lane of a tile.
template <typename T>
struct HWY_ALIGN LaneValues {
  T values[kTile] = {};

  T& operator[](std::int64_t i) { return values[i]; }
  T operator[](std::int64_t i) const { return values[i]; }
  const T* at(std::int64_t i) const { return values + i; }
  T* at(std::int64_t i) { return values + i; }
};

/// Sums of squares as Squares has them.
template <typename Real>
struct LaneSquares {
  LaneValues<Real> p, p_slope, kept, ds, dx;

  Squares of(std::int64_t i) const {
    return {static_cast<double>(p[i]), static_cast<double>(p_slope[i]), static_cast<double>(kept[i]),
            static_cast<double>(ds[i]), static_cast<double>(dx[i])};
  }
};

template <typename Real, Side kAlong>
class Pairs {
 public:
  /// Statistics are taken of the truth alone.
  static constexpr bool kStatistics = std::is_same_v<Real, double>;

  explicit Pairs(const ScoreTerms& terms) : terms_(terms), plain_(terms.plain()) {}

  Square<Real>& s() { return s_; }                // Q K^T, then P * Z
  Square<Real>& dp() { return dp_; }              // dO V^T, then dX
  const Square<Real>& ds() const { return ds_; }  // where there is a bias
  const LaneSquares<Real>& lane_squares() const { return lane_squares_; }
  const LaneSquares<Real>& row_squares() const { return row_squares_; }

  void set_lanes(const Rows& lanes) {
    lanes_ = &lanes;
    lane_squares_ = {};
    for (std::int64_t i = 0; i < kTile; ++i) {
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
    masked_ = !all_visible();
    if (masked_ && none_visible()) return false;
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
    if (terms_.has_bias) load_bias();
    if (terms_.drops) draw_keep();
    return true;
  }

  /// One step of the online softmax: s becomes exp(S - maximum) * Z with the new maximum of each lane's
  /// scores; `sum` follows, and `shrink` is what sums relative to the old maximum are to be multiplied by.
  /// Returns whether one of those is not 1. Lanes are queries.
  bool soften(LaneValues<Real>& maximum, LaneValues<Real>& sum, LaneValues<Real>& shrink) {
    if (plain_) {
      masked_ ? soften<true, true>(maximum, sum, shrink) : soften<true, false>(maximum, sum, shrink);
    } else {
      masked_ ? soften<false, true>(maximum, sum, shrink) : soften<false, false>(maximum, sum, shrink);
    }
    RoundAll(terms_.problem.dtype, s_.row(0), rows_->count() * kTile);
    for (std::int64_t l = 0; l < lanes_->count(); ++l) {
      if (shrink[l] != Real{1}) return true;
    }
    return false;
  }

  /// s becomes P * Z and dp becomes dX; the squares of the lanes grow, those of the rows are this tile's.
  PairTally differentiate(const KnownRows<Real>& known) {
    const Rows& queries = kAlong == Side::queries ? *lanes_ : *rows_;
    for (std::int64_t i = 0; i < queries.count(); ++i) {
      lse_[i] = known.lse[queries.row(i)];
      d_[i] = known.d[queries.row(i)];
    }
    PairTally tally;
    if (plain_) {
      tally = masked_ ? differentiate<true, true>() : differentiate<true, false>();
    } else {
      tally = masked_ ? differentiate<false, true>() : differentiate<false, false>();
    }
    RoundAll(terms_.problem.dtype, s_.row(0), rows_->count() * kTile);
    RoundAll(terms_.problem.dtype, dp_.row(0), rows_->count() * kTile);
    return tally;
  }

 private:
  using D = Tag<Real>;
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;
  using Int = hn::TFromD<DI>;
  static constexpr Side kOther = kAlong == Side::queries ? Side::keys : Side::queries;
  static constexpr std::int64_t kStep = kLanes<Real>;
  static constexpr Int kNowhere = std::numeric_limits<Int>::max() / 4;
  static constexpr Real kNone = -std::numeric_limits<Real>::infinity();

  struct Score {
    V s;
    V slope;
    V size;
  };

  Range visible_keys(const Rows& queries, std::int64_t i) const {
    return terms_.mask_of(queries.sequence).visible_keys(queries.positions[static_cast<std::size_t>(i)]);
  }

  /// A key's position, or that of the key that a query stands at.
  Int place(Side side, const Rows& rows, std::int64_t i) const {
    const std::int64_t position = rows.positions[static_cast<std::size_t>(i)];
    const std::int64_t diagonal = side == Side::queries ? terms_.mask_of(rows.sequence).diagonal() : 0;
    return static_cast<Int>(position + diagonal);
  }

  const Rows& queries() const { return kAlong == Side::queries ? *lanes_ : *rows_; }
  const Rows& keys() const { return kAlong == Side::queries ? *rows_ : *lanes_; }

  /// The ends of what queries see never move back from one to the next, so that the first and the last
  /// decide.
  bool all_visible() const {
    if (lanes_->count() < kTile) return false;
    return visible_keys(queries(), queries().count() - 1).begin <= keys().positions.front() &&
           visible_keys(queries(), 0).end > keys().positions.back();
  }
  bool none_visible() const {
    for (std::int64_t i = 0; i < queries().count(); ++i) {
      const Range range = visible_keys(queries(), i);
      if (std::max(range.begin, keys().positions.front()) <
          std::min(range.end, keys().positions.back() + 1)) {
        return false;
      }
    }
    return true;
  }

  /// visit(query's index, key's index, the pair's element of `square`).
  template <typename Visit>
  void for_pairs(Square<Real>& square, const Visit& visit) {
    for (std::int64_t i = 0; i < queries().count(); ++i) {
      for (std::int64_t j = 0; j < keys().count(); ++j) {
        visit(i, j, kAlong == Side::queries ? square.row(j)[i] : square.row(i)[j]);
      }
    }
  }

  void load_bias() {
    const Rows& q = queries();
    std::int64_t first = 0;
    for_pairs(bias_, [&](std::int64_t i, std::int64_t j, Real& element) {
      if (j == 0) first = terms_.bias_offset(q.sequence, q.head, q.positions[static_cast<std::size_t>(i)], 0);
      const std::int64_t key = keys().positions[static_cast<std::size_t>(j)];
      element = static_cast<Real>(terms_.inputs.bias[static_cast<std::size_t>(first + key)]);
    });
  }

  void draw_keep() {
    const std::int64_t head = queries().sequence * terms_.problem.nhead_q + queries().head;
    const auto keep_scale = static_cast<Real>(terms_.draws.keep_scale);
    PhiloxWords words{};
    std::int64_t drawn = -1;
    for_pairs(keep_, [&](std::int64_t i, std::int64_t j, Real& element) {
      const std::int64_t key = keys().positions[static_cast<std::size_t>(j)];
      if (j == 0 || key / 4 != drawn) {
        drawn = key / 4;
        words = terms_.draws.quad(head, queries().positions[static_cast<std::size_t>(i)], drawn);
      }
      element = terms_.draws.keeps(words[static_cast<std::size_t>(key % 4)]) ? keep_scale : Real{0};
    });
  }

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

  template <bool kPlain>
  HWY_INLINE Score score(std::int64_t r, std::int64_t l) const {
    const D d;
    const Problem& problem = terms_.problem;
    const V one = hn::Set(d, Real{1});
    Score score;
    score.s = hn::Mul(hn::Load(d, s_.row(r) + l), hn::Set(d, static_cast<Real>(problem.scale)));
    score.slope = one;
    score.size = hn::Abs(score.s);
    if constexpr (!kPlain) {
      const auto add = [&](V term) {
        score.s = hn::Add(score.s, term);
        score.size = hn::Add(score.size, hn::Abs(term));
      };
      if (problem.softcap > 0.0F) {
        const V limit = hn::Set(d, static_cast<Real>(problem.softcap));
        const V share = Tanh(d, hn::Div(score.s, limit));
        score.slope = hn::NegMulAdd(share, share, one);
        score.s = hn::Zero(d);
        add(hn::Mul(limit, share));
      }
      if (terms_.has_bias) add(hn::Load(d, bias_.row(r) + l));
      if (problem.alibi) {
        const DI di;
        const auto distance =
            hn::Abs(hn::Sub(hn::Load(di, lane_position_.at(l)), hn::Set(di, row_position_[r])));
        const float slope = terms_.inputs.slopes[static_cast<std::size_t>(queries().head)];
        add(hn::Mul(hn::Set(d, -static_cast<Real>(slope)), hn::ConvertTo(d, distance)));
      }
    }
    return score;
  }

  template <bool kPlain, bool kMasked>
  void soften(LaneValues<Real>& maximum, LaneValues<Real>& sum, LaneValues<Real>& shrink) {
    const D d;
    const V none = hn::Set(d, kNone);
    const std::int64_t rows = rows_->count();
    for (std::int64_t l = 0; l < kTile; l += kStep) {
      const V before = hn::Load(d, maximum.at(l));
      V after = before;
      for (std::int64_t r = 0; r < rows; ++r) {
        V s = score<kPlain>(r, l).s;
        if constexpr (kMasked) s = hn::IfThenElse(visible(r, l), s, none);
        hn::Store(s, d, s_.row(r) + l);
        after = hn::Max(after, s);
      }
      // A lane that has seen no key yet has no maximum to subtract.
      const V shift = hn::IfThenElse(hn::Eq(after, none), hn::Zero(d), after);
      const V factor = Exp(d, hn::Sub(before, shift));
      V total = hn::Mul(hn::Load(d, sum.at(l)), factor);
      for (std::int64_t r = 0; r < rows; ++r) {
        V p = Exp(d, hn::Sub(hn::Load(d, s_.row(r) + l), shift));
        total = hn::Add(total, p);
        if constexpr (!kPlain) {
          if (terms_.drops) p = hn::Mul(p, hn::Load(d, keep_.row(r) + l));
        }
        hn::Store(p, d, s_.row(r) + l);
      }
      hn::Store(after, d, maximum.at(l));
      hn::Store(total, d, sum.at(l));
      hn::Store(factor, d, shrink.at(l));
    }
  }

  template <bool kPlain, bool kMasked>
  PairTally differentiate() {
    const D d;
    PairTally tally;
    V largest = hn::Zero(d);
    for (std::int64_t r = 0; r < rows_->count(); ++r) {
      V p_sum = hn::Zero(d), p_slope_sum = p_sum, kept_sum = p_sum, ds_sum = p_sum, dx_sum = p_sum;
      for (std::int64_t l = 0; l < kTile; l += kStep) {
        const V lse = kAlong == Side::queries ? hn::Load(d, lse_.at(l)) : hn::Set(d, lse_[r]);
        const V d_of_row = kAlong == Side::queries ? hn::Load(d, d_.at(l)) : hn::Set(d, d_[r]);
        const Score x = score<kPlain>(r, l);
        V p = Exp(d, hn::Sub(x.s, lse));
        V dp = hn::Load(d, dp_.row(r) + l);
        V kept = p;
        if constexpr (!kPlain) {
          if (terms_.drops) {
            const V keep = hn::Load(d, keep_.row(r) + l);
            dp = hn::Mul(dp, keep);
            kept = hn::Mul(p, keep);
          }
        }
        V ds = hn::Mul(p, hn::Sub(dp, d_of_row));
        if constexpr (kMasked) {
          const auto seen = visible(r, l);
          p = hn::IfThenElseZero(seen, p);
          kept = hn::IfThenElseZero(seen, kept);
          ds = hn::IfThenElseZero(seen, ds);
        }
        const V dx = kPlain ? ds : hn::Mul(ds, x.slope);
        hn::Store(kept, d, s_.row(r) + l);
        hn::Store(dx, d, dp_.row(r) + l);
        if constexpr (!kPlain) {
          if (terms_.has_bias) hn::Store(ds, d, ds_.row(r) + l);
        }
        if constexpr (kStatistics) {
          const auto significant = hn::Ge(p, hn::Set(d, static_cast<Real>(kNegligible)));
          tally.significant += static_cast<std::int64_t>(hn::CountTrue(d, significant));
          largest = hn::Max(largest, hn::IfThenElseZero(significant, x.size));
          const auto square = [&](V value, LaneValues<Real>& of_lanes, V& of_row) {
            hn::Store(hn::MulAdd(value, value, hn::Load(d, of_lanes.at(l))), d, of_lanes.at(l));
            of_row = hn::MulAdd(value, value, of_row);
          };
          square(p, lane_squares_.p, p_sum);
          square(ds, lane_squares_.ds, ds_sum);
          if constexpr (!kPlain) {
            square(hn::Mul(p, x.slope), lane_squares_.p_slope, p_slope_sum);
            square(kept, lane_squares_.kept, kept_sum);
            square(dx, lane_squares_.dx, dx_sum);
          }
        }
      }
      if constexpr (kStatistics && kAlong == Side::keys) {
        const auto total = [&](V sums) { return hn::GetLane(hn::SumOfLanes(d, sums)); };
        row_squares_.p[r] = total(p_sum);
        row_squares_.ds[r] = total(ds_sum);
        row_squares_.p_slope[r] = kPlain ? row_squares_.p[r] : total(p_slope_sum);
        row_squares_.kept[r] = kPlain ? row_squares_.p[r] : total(kept_sum);
        row_squares_.dx[r] = kPlain ? row_squares_.ds[r] : total(dx_sum);
      }
    }
    if constexpr (kStatistics) {
      tally.max_score = static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, largest)));
      if constexpr (kPlain) {
        lane_squares_.p_slope = lane_squares_.p;
        lane_squares_.kept = lane_squares_.p;
        lane_squares_.dx = lane_squares_.ds;
      }
    }
    return tally;
  }

  const ScoreTerms& terms_;
  bool plain_;
  bool masked_ = true;
  const Rows* lanes_ = nullptr;
  const Rows* rows_ = nullptr;
  LaneValues<Int> lane_position_;  // see place()
  LaneValues<Int> lane_begin_;     // the keys that a lane's query sees
  LaneValues<Int> lane_end_;
  LaneValues<Int> row_position_;
  LaneValues<Int> row_begin_;
  LaneValues<Int> row_end_;
  LaneValues<Real> lse_;  // of the queries, lanes or rows
  LaneValues<Real> d_;
  Square<Real> s_;
  Square<Real> dp_;
  Square<Real> ds_;
  Square<Real> bias_;
  Square<Real> keep_;  // Z
  LaneSquares<Real> lane_squares_;
  LaneSquares<Real> row_squares_;
};

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
