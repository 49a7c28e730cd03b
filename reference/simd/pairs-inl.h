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
#include "reference/simd/placement-inl.h"
#include "reference/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

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
  static constexpr std::int64_t kOwned = Placement<Real, kAlong>::kOwned;  // lanes
  using Numbers = PairNumbers<Real, kOwned>;
  using Lanes = LaneValues<Real, kOwned>;
  /// Statistics are taken of the truth alone.
  static constexpr bool kStatistics = std::is_same_v<Real, double>;

  explicit Pairs(const ScoreTerms& terms) : terms_(terms), plain_(terms.plain()), at_(terms) {}

  Numbers& s() { return s_; }                // Q K^T, then P * Z
  Numbers& dp() { return *dp_; }             // dO V^T, then dX
  const Numbers& ds() const { return ds_; }  // where there is a bias
  const LaneSquares<Real, kOwned>& lane_squares() const { return lane_squares_; }
  const LaneSquares<Real, kTile>& row_squares() const { return row_squares_; }

  void set_lanes(const Rows& lanes) {
    at_.set_lanes(lanes);
    lane_squares_ = {};
  }

  /// Returns whether any pair of the tile may be visible.
  bool set_rows(const Rows& rows) {
    if (!at_.set_rows(rows)) return false;
    if (terms_.has_bias) load_bias();
    if (terms_.drops) draw_keep();
    return true;
  }

  /// The pairs that the products, and all that follows from them, are of: see Placement.
  const std::vector<Part>& parts() const { return at_.parts(); }
  Range seen() const { return at_.seen(); }

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
    for (const auto& [rows, lanes] : at_.parts()) {
      Multiply<true, Real>(numbers.by_column(rows.begin, lanes.begin), lanes.size(), rows.size(),
                           SkipRows(b, rows.begin), columns, SkipRows(c, lanes.begin));
    }
  }
  /// Takes the memory of dX away; set_dx gives it, or other memory, back.
  std::unique_ptr<Numbers> take_dx() { return std::move(dp_); }
  void set_dx(std::unique_ptr<Numbers> memory) { dp_ = std::move(memory); }

  /// One step of the online softmax: s becomes exp(S - maximum) * Z with the new maximum of each lane's
  /// scores; `sum` follows, and `shrink` is what sums relative to the old maximum are to be multiplied by.
  /// Lanes are queries.
  void soften(Lanes& maximum, Lanes& sum, Lanes& shrink) {
    choose([&](auto plain, auto masked) { soften<plain, masked>(maximum, sum, shrink); });
    RoundAll(terms_.problem.dtype, s_.row(0), at_.rows().count() * Numbers::kStride);
  }

  /// s becomes P * Z and dp becomes dX; the squares of the lanes grow, those of the rows are this tile's.
  PairTally differentiate(const KnownRows<Real>& known) {
    const Rows& queries = at_.queries();
    for (std::int64_t i = 0; i < queries.count(); ++i) {
      lse_[i] = known.lse[queries.row(i)];
      d_[i] = known.d[queries.row(i)];
    }
    PairTally tally;
    choose([&](auto plain, auto masked) { tally = differentiate<plain, masked>(); });
    RoundAll(terms_.problem.dtype, s_.row(0), at_.rows().count() * Numbers::kStride);
    RoundAll(terms_.problem.dtype, dp_->row(0), at_.rows().count() * Numbers::kStride);
    return tally;
  }

 private:
  using D = Tag<Real>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t kStep = kLanes<Real>;
  static constexpr Real kNone = -std::numeric_limits<Real>::infinity();

  struct Score {
    V s;
    V slope;
    V size;
  };

  /// run(whether scores are plain, whether some pairs are invisible), both known when it is compiled.
  template <typename Run>
  void choose(const Run& run) const {
    const auto with = [&](auto plain) {
      at_.masked() ? run(plain, std::true_type()) : run(plain, std::false_type());
    };
    plain_ ? with(std::true_type()) : with(std::false_type());
  }

  void multiply(const Factor<Real>& a, std::int64_t depth, const Panels<const Real>& b, Numbers& numbers) {
    for (const auto& [rows, lanes] : at_.parts()) {
      const std::int64_t panel = lanes.begin / kPanel<Real>;
      Multiply<false, Real>(SkipRows(a, rows.begin), rows.size(), depth, SkipPanels(b, panel), lanes.size(),
                            SkipRows(SkipPanels(numbers.panels(), panel), rows.begin));
    }
  }

  /// visit(query's index, key's index, the pair's element of `square`).
  template <typename Visit>
  void for_pairs(Numbers& square, const Visit& visit) {
    for (std::int64_t i = 0; i < at_.queries().count(); ++i) {
      for (std::int64_t j = 0; j < at_.keys().count(); ++j) {
        visit(i, j, kAlong == Side::queries ? square.row(j)[i] : square.row(i)[j]);
      }
    }
  }

  void load_bias() {
    const Rows& q = at_.queries();
    std::int64_t first = 0;
    for_pairs(bias_, [&](std::int64_t i, std::int64_t j, Real& element) {
      if (j == 0) first = terms_.bias_offset(q.sequence, q.head, q.positions[static_cast<std::size_t>(i)], 0);
      const std::int64_t key = at_.keys().positions[static_cast<std::size_t>(j)];
      element = static_cast<Real>(terms_.inputs.bias[static_cast<std::size_t>(first + key)]);
    });
  }

  void draw_keep() {
    const std::int64_t head = at_.queries().sequence * terms_.problem.nhead_q + at_.queries().head;
    const auto keep_scale = static_cast<Real>(terms_.draws.keep_scale);
    PhiloxWords words{};
    std::int64_t drawn = -1;
    for_pairs(keep_, [&](std::int64_t i, std::int64_t j, Real& element) {
      const std::int64_t key = at_.keys().positions[static_cast<std::size_t>(j)];
      if (j == 0 || key / 8 != drawn) {
        drawn = key / 8;
        words = terms_.draws.eight(head, at_.queries().positions[static_cast<std::size_t>(i)], drawn);
      }
      element = terms_.draws.keeps(words, key) ? keep_scale : Real{0};
    });
  }

  /// Of the product `qk` of pair (r, l).
  template <bool kPlain>
  HWY_INLINE Score score(V qk, V scale, std::int64_t r, std::int64_t l) const {
    const D d;
    const V one = hn::Set(d, Real{1});
    const V s = hn::Mul(qk, scale);
    Score score = {s, one, hn::Abs(s)};
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
        const float slope = terms_.inputs.slopes[static_cast<std::size_t>(at_.queries().head)];
        add(hn::Mul(hn::Set(d, -static_cast<Real>(slope)), at_.distance(r, l)));
      }
    }
    return score;
  }

  template <bool kPlain, bool kMasked>
  void soften(Lanes& maximum, Lanes& sum, Lanes& shrink) {
    const D d;
    const V none = hn::Set(d, kNone);
    const V scale = hn::Set(d, static_cast<Real>(terms_.problem.scale));
    const Range seen = at_.seen();
    Real* const HWY_RESTRICT tile = s_.row(0);
    for (std::int64_t l = seen.begin; l < seen.end; l += kStep) {
      const auto for_rows = [&](const auto& visit) {
        for (const auto& [rows, lanes] : at_.parts()) {
          if (!lanes.contains(l)) continue;
          for (std::int64_t r = rows.begin; r < rows.end; ++r) visit(r, tile + r * Numbers::kStride + l);
        }
      };
      const V before = hn::Load(d, maximum.at(l));
      V after = before;
      for_rows([&](std::int64_t r, Real* pair) {
        V s = score<kPlain>(hn::Load(d, pair), scale, r, l).s;
        if constexpr (kMasked) s = hn::IfThenElse(at_.visible(r, l), s, none);
        hn::Store(s, d, pair);
        after = hn::Max(after, s);
      });
      // A lane that has seen no key yet has no maximum to subtract.
      const V shift = hn::IfThenElse(hn::Eq(after, none), hn::Zero(d), after);
      const V factor = Exp(d, hn::Sub(before, shift));
      V total = hn::Mul(hn::Load(d, sum.at(l)), factor);
      for_rows([&](std::int64_t r, Real* pair) {
        V p = Exp(d, hn::Sub(hn::Load(d, pair), shift));
        total = hn::Add(total, p);
        if constexpr (!kPlain) {
          if (terms_.drops) p = hn::Mul(p, hn::Load(d, keep_.row(r) + l));
        }
        hn::Store(p, d, pair);
      });
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
    Real* const HWY_RESTRICT s_tile = s_.row(0);
    Real* const HWY_RESTRICT dp_tile = dp_->row(0);
    LaneSquares<Real, kOwned> lane_squares = lane_squares_;
    V largest = hn::Zero(d);
    std::int64_t significant_pairs = 0;
    const auto differentiate_row = [&](std::int64_t r, Range lanes) {
      V p_sum = hn::Zero(d), p_slope_sum = p_sum, kept_sum = p_sum, ds_sum = p_sum, dx_sum = p_sum;
      Real* const HWY_RESTRICT s_row = s_tile + r * Numbers::kStride;
      Real* const HWY_RESTRICT dp_row = dp_tile + r * Numbers::kStride;
      for (std::int64_t l = lanes.begin; l < lanes.end; l += kStep) {
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
          const auto visible = at_.visible(r, l);
          p = hn::IfThenElseZero(visible, p);
          kept = hn::IfThenElseZero(visible, kept);
          ds = hn::IfThenElseZero(visible, ds);
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
    };
    for (const auto& [rows, lanes] : at_.parts()) {
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        differentiate_row(r, lanes);
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
  Placement<Real, kAlong> at_;
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
