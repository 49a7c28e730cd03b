// A tile of queries, and the keys that pass by.
#if defined(FMHA_BWD_REFERENCE_SIMD_QUERY_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_QUERY_TILE_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_QUERY_TILE_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_QUERY_TILE_INL_H_
#endif

#include "reference/simd/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

template <typename Real>
class VectorQueryTile final : public QueryTile<Real> {
 public:
  explicit VectorQueryTile(const ScoreTerms& terms)
      : terms_(terms),
        q_(terms.problem.hdim_q),
        d_o_(terms.problem.hdim_v),
        k_(terms.problem.hdim_q),
        v_(terms.problem.hdim_v),
        o_(terms.problem.hdim_v),
        dq_(terms.problem.hdim_q),
        pairs_(terms) {}

  void forward(const Rows& queries, Real* o, Real* lse) override {
    constexpr Real kNone = -std::numeric_limits<Real>::infinity();
    const bool sink = terms_.problem.sink;
    typename Pairs<Real, Side::queries>::Lanes maximum, sum, shrink;
    for (std::int64_t l = 0; l < kOwnedQueries; ++l) {
      maximum[l] =
          sink ? static_cast<Real>(terms_.inputs.sink[static_cast<std::size_t>(queries.head)]) : kNone;
      sum[l] = sink ? Real{1} : Real{0};
    }
    o_.clear();
    own(queries);
    for_keys(queries, [&](const Rows& keys) {
      v_.load(terms_.inputs.v, keys);
      pairs_.soften(maximum, sum, shrink);
      for (std::int64_t i = pairs_.seen().begin; i < pairs_.seen().end; ++i) {
        if (shrink[i] != Real{1}) o_.scale_row(i, shrink[i]);
      }
      pairs_.add_to_lanes(pairs_.s(), v_.operand(), v_.columns(), o_.panels());
    });
    for (std::int64_t i = 0; i < queries.count(); ++i) {
      const bool sees_nothing = sum[i] == Real{0};
      lse[i] = sees_nothing ? kNone : maximum[i] + std::log(sum[i]);
      if (!sees_nothing) o_.scale_row(i, Real{1} / sum[i]);
    }
    o_.store(queries.count(), o);
  }

  PairTally differentiate(const Rows& queries, const KnownRows<Real>& known, Real* dq,
                          Squares* squares) override {
    PairTally tally;
    dq_.clear();
    for_gradients(queries, known, [&](const Rows&, const PairTally& pairs) {
      tally.add(pairs);
      pairs_.add_to_lanes(pairs_.dp(), k_.operand(), k_.columns(), dq_.panels());
    });
    dq_.store(queries.count(), dq);
    for (std::int64_t i = 0; i < queries.count(); ++i) squares[i].add(pairs_.lane_squares().of(i));
    return tally;
  }

  void add_dbias(const Rows& queries, const KnownRows<Real>& known, Real* dbias,
                 std::int64_t stride) override {
    for_gradients(queries, known, [&](const Rows& keys, const PairTally&) {
      for (const Part& part : pairs_.parts()) {
        for (std::int64_t i = part.lanes.begin; i < part.lanes.end; ++i) {
          Real* row = dbias + i * stride + keys.positions.front();
          for (std::int64_t j = part.rows.begin; j < part.rows.end; ++j) row[j] += pairs_.ds().row(j)[i];
        }
      }
    });
  }

 private:
  void own(const Rows& queries) {
    q_.load(terms_.inputs.q, queries);
    pairs_.set_lanes(queries);
  }

  /// visit(keys) for each tile of keys in which the queries see any, K loaded and Q K^T computed.
  template <typename Visit>
  void for_keys(const Rows& queries, const Visit& visit) {
    const Mask& mask = terms_.mask_of(queries.sequence);
    const Range seen = mask.keys_of({queries.positions.front(), queries.positions.back() + 1});
    const std::int64_t head = queries.head / terms_.problem.group_size();
    for (std::int64_t first = seen.begin / kTile * kTile; first < seen.end; first += kTile) {
      const Rows keys =
          terms_.key_rows(queries.sequence, head, tile_positions(first, mask.seqlen_k(), kTile));
      if (!pairs_.set_rows(keys)) continue;
      k_.view(terms_.inputs.k, keys);
      pairs_.multiply_s(k_.factor(), k_.columns(), q_.operand());
      visit(keys);
    }
  }

  /// visit(keys, tally), with dX computed.
  template <typename Visit>
  void for_gradients(const Rows& queries, const KnownRows<Real>& known, const Visit& visit) {
    d_o_.load(terms_.inputs.d_o, queries);
    own(queries);
    for_keys(queries, [&](const Rows& keys) {
      v_.load(terms_.inputs.v, keys);
      pairs_.multiply_dp(v_.factor(), v_.columns(), d_o_.operand());
      visit(keys, pairs_.differentiate(known));
    });
  }

  const ScoreTerms& terms_;
  ColumnPanels<Real, kOwnedQueries> q_;
  ColumnPanels<Real, kOwnedQueries> d_o_;
  RowPanels<Real, kTile> k_;
  RowPanels<Real, kTile> v_;
  RowPanels<Real, kOwnedQueries> o_;
  RowPanels<Real, kOwnedQueries> dq_;
  Pairs<Real, Side::queries> pairs_;
};

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
