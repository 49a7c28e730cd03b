// A tile of keys, and the queries that pass by.
#if defined(FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_
#endif

#include "reference/simd/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fmha_bwd::HWY_NAMESPACE {

template <typename Real>
class VectorKeyTile final : public KeyTile<Real> {
 public:
  explicit VectorKeyTile(const ScoreTerms& terms)
      : terms_(terms),
        k_transposed_(terms.problem.hdim_q),
        v_transposed_(terms.problem.hdim_v),
        k_(terms.problem.hdim_q),
        q_(terms.problem.hdim_q),
        d_o_(terms.problem.hdim_v),
        dk_(terms.problem.hdim_q),
        dv_(terms.problem.hdim_v),
        pairs_(terms) {}

  void start(const Rows& keys) override {
    keys_ = keys;
    k_transposed_.load(terms_.inputs.k, keys_);
    v_transposed_.load(terms_.inputs.v, keys_);
    k_.load(terms_.inputs.k, keys_);
    dk_.clear();
    dv_.clear();
    pairs_.set_lanes(keys_);
  }

  PairTally add(const Rows& queries, const KnownRows<Real>& known) override {
    queries_ = queries;
    visible_ = pairs_.set_rows(queries_);
    if (!visible_) return {};
    q_.load(terms_.inputs.q, queries_);
    d_o_.load(terms_.inputs.d_o, queries_);
    pairs_.multiply_s(q_.factor(), q_.columns(), k_transposed_.operand());
    pairs_.multiply_dp(d_o_.factor(), d_o_.columns(), v_transposed_.operand());
    const PairTally tally = pairs_.differentiate(known);
    pairs_.add_to_lanes(pairs_.s(), d_o_.operand(), d_o_.columns(), dv_.panels());
    pairs_.add_to_lanes(pairs_.dp(), q_.operand(), q_.columns(), dk_.panels());
    return tally;
  }

  void add_dq(const PaddedRows<Real>& dq, Squares* squares) override {
    if (!visible_) return;
    pairs_.add_to_rows(pairs_.dp(), k_.operand(), k_.columns(), {dq.data, dq.stride, kPanel<Real>});
    if constexpr (Pairs<Real, Side::keys>::kStatistics) {
      for (std::int64_t i = 0; i < queries_.count(); ++i) squares[i].add(pairs_.row_squares().of(i));
    }
  }

  void finish(Real* dk, Real* dv, Squares* squares) override {
    dk_.store(keys_.count(), dk);
    dv_.store(keys_.count(), dv);
    for (std::int64_t j = 0; j < keys_.count(); ++j) squares[j].add(pairs_.lane_squares().of(j));
  }

 private:
  const ScoreTerms& terms_;
  Rows keys_;
  Rows queries_;
  bool visible_ = false;
  ColumnPanels<Real, kOwnedKeys> k_transposed_;
  ColumnPanels<Real, kOwnedKeys> v_transposed_;
  RowPanels<Real, kOwnedKeys> k_;
  RowPanels<Real, kTile> q_;
  RowPanels<Real, kTile> d_o_;
  RowPanels<Real, kOwnedKeys> dk_;
  RowPanels<Real, kOwnedKeys> dv_;
  Pairs<Real, Side::keys> pairs_;
};

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
