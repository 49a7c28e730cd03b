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
#include <memory>
#include <type_traits>

#include "reference/simd/functions-inl.h"
#include "reference/simd/pack-inl.h"
#include "reference/simd/tiles.h"

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

/// Sums of squares as Squares has them.
template <typename Real, std::int64_t kCount>
struct LaneSquares {
  LaneValues<Real, kCount> p, p_slope, kept, ds, dx;

  Squares of(std::int64_t i) const {
    return {static_cast<double>(p[i]), static_cast<double>(p_slope[i]), static_cast<double>(kept[i]),
            static_cast<double>(ds[i]), static_cast<double>(dx[i])};
  }
};

template <typename Real, Side kAlong>
class Pairs {
 public:
  static constexpr std::int64_t kOwned = kAlong == Side::queries ? kOwnedQueries : kOwnedKeys;  // lanes
  using Numbers = PairNumbers<Real, kOwned>;
  using Lanes = LaneValues<Real, kOwned>;
  /// Statistics are taken of the truth alone.
  static constexpr bool kStatistics = std::is_same_v<Real, double>;

  explicit Pairs(const ScoreTerms& terms) : terms_(terms), plain_(terms.plain()) {}

  Numbers& s() { return s_; }                // Q K^T, then P * Z
  Numbers& dp() { return *dp_; }             // dO V^T, then dX
  const Numbers& ds() const { return ds_; }  // where there is a bias
  const LaneSquares<Real, kOwned>& lane_squares() const { return lane_squares_; }
  const LaneSquares<Real, kTile>& row_squares() const { return row_squares_; }

  void set_lanes(const Rows& lanes) {
    lanes_ = &lanes;
    lane_squares_ = {};
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
    seen_ = seen_lanes();
    if (seen_.empty()) return false;
    masked_ = !all_visible();
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

  /// The lanes that have a visible pair with these rows are among them; begins with a panel. The products and
  /// all that follows from them are of these lanes alone.
  Range seen() const { return seen_; }

  /// s = A B for A [rows, depth] of the rows and B [depth, lanes].
  void multiply_s(const Factor<Real>& a, std::int64_t depth, const Panels<const Real>& b) {
    multiply(a, depth, b, s_);
  }
  void multiply_dp(const Factor<Real>& a, std::int64_t depth, const Panels<const Real>& b) {
    multiply(a, depth, b, *dp_);
  }
  /// C [lanes, columns] += numbers^T B for B [rows, columns].
  void add_to_lanes(const Numbers& numbers, const Panels<const Real>& b, std::int64_t columns,
                    const Panels<Real>& c) const {
    Multiply<true, Real>(SkipRows(numbers.by_column(), seen_.begin), seen_.size(), rows_->count(), b, columns,
                         SkipRows(c, seen_.begin));
  }
  /// Takes the memory of dX away; set_dx gives it, or other memory, back.
  std::unique_ptr<Numbers> take_dx() { return std::move(dp_); }
  void set_dx(std::unique_ptr<Numbers> memory) { dp_ = std::move(memory); }

  /// One step of the online softmax: s becomes exp(S - maximum) * Z with the new maximum of each lane's
  /// scores; `sum` follows, and `shrink` is what sums relative to the old maximum are to be multiplied by.
  /// Returns whether one of those is not 1. Lanes are queries.
  bool soften(Lanes& maximum, Lanes& sum, Lanes& shrink) {
    if (plain_) {
      masked_ ? soften<true, true>(maximum, sum, shrink) : soften<true, false>(maximum, sum, shrink);
    } else {
      masked_ ? soften<false, true>(maximum, sum, shrink) : soften<false, false>(maximum, sum, shrink);
    }
    RoundAll(terms_.problem.dtype, s_.row(0), rows_->count() * kOwned);
    for (std::int64_t l = seen_.begin; l < seen_.end; ++l) {
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
    RoundAll(terms_.problem.dtype, s_.row(0), rows_->count() * kOwned);
    RoundAll(terms_.problem.dtype, dp_->row(0), rows_->count() * kOwned);
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

  void multiply(const Factor<Real>& a, std::int64_t depth, const Panels<const Real>& b, Numbers& numbers) {
    const std::int64_t panel = seen_.begin / kPanel<Real>;
    Multiply<false, Real>(a, rows_->count(), depth, SkipPanels(b, panel), seen_.size(),
                          SkipPanels(numbers.panels(), panel));
  }

  std::int64_t first_key() const { return keys().positions.front(); }
  std::int64_t last_key() const { return keys().positions.back(); }

  Range seen_lanes() const {
    Range seen = {lanes_->count(), 0};
    for (std::int64_t l = 0; l < lanes_->count(); ++l) {
      if (!sees_any(l)) continue;
      seen.begin = std::min(seen.begin, l);
      seen.end = l + 1;
    }
    if (seen.empty()) return {};
    seen.begin = seen.begin / kPanel<Real> * kPanel<Real>;
    return seen;
  }
  /// Whether lane l may have a visible pair: the ends of what queries see never move back from one to the
  /// next.
  bool sees_any(std::int64_t l) const {
    if constexpr (kAlong == Side::queries) {
      return lane_begin_[l] <= last_key() && lane_end_[l] > first_key() && lane_begin_[l] < lane_end_[l];
    } else {
      const std::int64_t key = keys().positions[static_cast<std::size_t>(l)];
      return visible_keys(queries(), 0).begin <= key &&
             key < visible_keys(queries(), queries().count() - 1).end;
    }
  }
  /// Of the lanes that are computed, which are whole vectors.
  bool all_visible() const {
    if (seen_.size() % kStep != 0) return false;
    if constexpr (kAlong == Side::queries) {
      return lane_begin_[seen_.end - 1] <= first_key() && lane_end_[seen_.begin] > last_key();
    } else {
      return visible_keys(queries(), queries().count() - 1).begin <=
                 keys().positions[static_cast<std::size_t>(seen_.begin)] &&
             visible_keys(queries(), 0).end > keys().positions[static_cast<std::size_t>(seen_.end - 1)];
    }
  }

  /// visit(query's index, key's index, the pair's element of `square`).
  template <typename Visit>
  void for_pairs(Numbers& square, const Visit& visit) {
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

  /// Of the product `qk` of pair (r, l).
  template <bool kPlain>
  HWY_INLINE Score score(V qk, V scale, std::int64_t r, std::int64_t l) const {
    const D d;
    const V one = hn::Set(d, Real{1});
    Score score;
    score.s = hn::Mul(qk, scale);
    score.slope = one;
    score.size = hn::Abs(score.s);
    if constexpr (!kPlain) {
      const Problem& problem = terms_.problem;
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
  void soften(Lanes& maximum, Lanes& sum, Lanes& shrink) {
    const D d;
    const V none = hn::Set(d, kNone);
    const V scale = hn::Set(d, static_cast<Real>(terms_.problem.scale));
    const std::int64_t rows = rows_->count();
    Real* const HWY_RESTRICT tile = s_.row(0);
    for (std::int64_t l = seen_.begin; l < seen_.end; l += kStep) {
      const V before = hn::Load(d, maximum.at(l));
      V after = before;
      for (std::int64_t r = 0; r < rows; ++r) {
        Real* const pair = tile + r * kOwned + l;
        V s = score<kPlain>(hn::Load(d, pair), scale, r, l).s;
        if constexpr (kMasked) s = hn::IfThenElse(visible(r, l), s, none);
        hn::Store(s, d, pair);
        after = hn::Max(after, s);
      }
      // A lane that has seen no key yet has no maximum to subtract.
      const V shift = hn::IfThenElse(hn::Eq(after, none), hn::Zero(d), after);
      const V factor = Exp(d, hn::Sub(before, shift));
      V total = hn::Mul(hn::Load(d, sum.at(l)), factor);
      for (std::int64_t r = 0; r < rows; ++r) {
        Real* const pair = tile + r * kOwned + l;
        V p = Exp(d, hn::Sub(hn::Load(d, pair), shift));
        total = hn::Add(total, p);
        if constexpr (!kPlain) {
          if (terms_.drops) p = hn::Mul(p, hn::Load(d, keep_.row(r) + l));
        }
        hn::Store(p, d, pair);
      }
      hn::Store(after, d, maximum.at(l));
      hn::Store(total, d, sum.at(l));
      hn::Store(factor, d, shrink.at(l));
    }
  }

  template <bool kPlain, bool kMasked>
  PairTally differentiate() {
    const D d;
    const V scale = hn::Set(d, static_cast<Real>(terms_.problem.scale));
    const V negligible = hn::Set(d, static_cast<Real>(kNegligible));
    const std::int64_t rows = rows_->count();
    Real* const HWY_RESTRICT s_tile = s_.row(0);
    Real* const HWY_RESTRICT dp_tile = dp_->row(0);
    LaneSquares<Real, kOwned> lane_squares = lane_squares_;
    V largest = hn::Zero(d);
    std::int64_t significant_pairs = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      V p_sum = hn::Zero(d), p_slope_sum = p_sum, kept_sum = p_sum, ds_sum = p_sum, dx_sum = p_sum;
      Real* const HWY_RESTRICT s_row = s_tile + r * kOwned;
      Real* const HWY_RESTRICT dp_row = dp_tile + r * kOwned;
      HWY_UNROLL(1)
      for (std::int64_t l = seen_.begin; l < seen_.end; l += kStep) {
        const V lse = kAlong == Side::queries ? hn::Load(d, lse_.at(l)) : hn::Set(d, lse_[r]);
        const V d_of_row = kAlong == Side::queries ? hn::Load(d, d_.at(l)) : hn::Set(d, d_[r]);
        const Score x = score<kPlain>(hn::Load(d, s_row + l), scale, r, l);
        V p = Exp(d, hn::Sub(x.s, lse));
        V dp = hn::Load(d, dp_row + l);
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
        hn::Store(kept, d, s_row + l);
        hn::Store(dx, d, dp_row + l);
        if constexpr (!kPlain) {
          if (terms_.has_bias) hn::Store(ds, d, ds_.row(r) + l);
        }
        if constexpr (kStatistics) {
          const auto significant = hn::Ge(p, negligible);
          significant_pairs += static_cast<std::int64_t>(hn::CountTrue(d, significant));
          largest = hn::Max(largest, hn::IfThenElseZero(significant, x.size));
          const auto square = [&](V value, Lanes& of_lanes, V& of_row) {
            hn::Store(hn::MulAdd(value, value, hn::Load(d, of_lanes.at(l))), d, of_lanes.at(l));
            of_row = hn::MulAdd(value, value, of_row);
          };
          square(p, lane_squares.p, p_sum);
          square(ds, lane_squares.ds, ds_sum);
          if constexpr (!kPlain) {
            square(hn::Mul(p, x.slope), lane_squares.p_slope, p_slope_sum);
            square(kept, lane_squares.kept, kept_sum);
            square(dx, lane_squares.dx, dx_sum);
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
    if constexpr (!kStatistics) return {};
    if constexpr (kPlain) {
      lane_squares.p_slope = lane_squares.p;
      lane_squares.kept = lane_squares.p;
      lane_squares.dx = lane_squares.ds;
    }
    lane_squares_ = lane_squares;
    return {significant_pairs, static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, largest)))};
  }

  const ScoreTerms& terms_;
  bool plain_;
  bool masked_ = true;
  const Rows* lanes_ = nullptr;
  const Rows* rows_ = nullptr;
  Range seen_;
  LaneValues<Int, kOwned> lane_position_;  // see place()
  LaneValues<Int, kOwned> lane_begin_;     // the keys that a lane's query sees
  LaneValues<Int, kOwned> lane_end_;
  LaneValues<Int, kTile> row_position_;
  LaneValues<Int, kTile> row_begin_;
  LaneValues<Int, kTile> row_end_;
  LaneValues<Real, std::max(kOwned, kTile)> lse_;  // of the queries, lanes or rows
  LaneValues<Real, std::max(kOwned, kTile)> d_;
  Numbers s_;
  std::unique_ptr<Numbers> dp_ = std::make_unique<Numbers>();
  Numbers ds_;
  Numbers bias_;
  Numbers keep_;  // Z
  LaneSquares<Real, kOwned> lane_squares_;
  LaneSquares<Real, kTile> row_squares_;
};

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
