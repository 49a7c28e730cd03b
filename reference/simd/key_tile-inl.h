// A tile of keys, and the queries that pass by.
#if defined(FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_
#undef FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_
#else
#define FMHA_BWD_REFERENCE_SIMD_KEY_TILE_INL_H_
#endif

#include <deque>
#include <memory>
#include <vector>

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
    while (!kept_.empty()) drop_dq();  // of keys that were given up
  }

  PairTally add(const Rows& queries, const KnownRows<Real>& known) override {
    if (spare_.empty()) spare_.push_back(std::make_unique<Kept>());
    std::unique_ptr<Kept> kept = std::move(spare_.back());
    spare_.pop_back();
    PairTally tally;
    queries_ = queries;
    kept->parts.clear();
    if (pairs_.set_rows(queries_)) {
      q_.load(terms_.inputs.q, queries_);
      d_o_.load(terms_.inputs.d_o, queries_);
      pairs_.set_dx(std::move(kept->dx));
      pairs_.multiply_s(q_.factor(), q_.columns(), k_transposed_.operand());
      pairs_.multiply_dp(d_o_.factor(), d_o_.columns(), v_transposed_.operand());
      tally = pairs_.differentiate(known);
      pairs_.add_to_lanes(pairs_.s(), d_o_.operand(), d_o_.columns(), dv_.panels());
      pairs_.add_to_lanes(pairs_.dp(), q_.operand(), q_.columns(), dk_.panels());
      kept->dx = pairs_.take_dx();
      kept->parts = pairs_.parts();
      if constexpr (ThesePairs::kStatistics) kept->squares = pairs_.row_squares();
    }
    kept_.push_back(std::move(kept));
    return tally;
  }

  void add_dq(const PaddedRows<Real>& dq, Squares* squares) override {
    drop_dq();
    const Kept& kept = *spare_.back();
    for (const auto& [rows, keys] : kept.parts) {
      Multiply<true, Real>(kept.dx->by_row(rows.begin, keys.begin), rows.size(), keys.size(),
                           SkipRows(k_.operand(), keys.begin), k_.columns(),
                           {dq.data + rows.begin * dq.stride, dq.stride, kPanel<Real>});
      if constexpr (ThesePairs::kStatistics) {
        for (std::int64_t i = rows.begin; i < rows.end; ++i) squares[i].add(kept.squares.of(i));
      }
    }
  }

  void drop_dq() override {
    spare_.push_back(std::move(kept_.front()));
    kept_.pop_front();
  }

  void finish(Real* dk, Real* dv, Squares* squares) override {
    dk_.store(keys_.count(), dk);
    dv_.store(keys_.count(), dv);
    for (std::int64_t j = 0; j < keys_.count(); ++j) squares[j].add(pairs_.lane_squares().of(j));
  }

 private:
  using ThesePairs = Pairs<Real, Side::keys>;

  /// What dQ of some queries needs.
  struct Kept {
    std::unique_ptr<typename ThesePairs::Numbers> dx = std::make_unique<typename ThesePairs::Numbers>();
    std::vector<Part> parts;  // none where all of dX is zero
    LaneSquares<Real, kTile> squares;
  };

  const ScoreTerms& terms_;
  Rows keys_;
  Rows queries_;
  ColumnPanels<Real, kOwnedKeys> k_transposed_;
  ColumnPanels<Real, kOwnedKeys> v_transposed_;
  RowPanels<Real, kOwnedKeys> k_;
  RowPanels<Real, kTile> q_;
  RowPanels<Real, kTile> d_o_;
  RowPanels<Real, kOwnedKeys> dk_;
  RowPanels<Real, kOwnedKeys> dv_;
  ThesePairs pairs_;
  std::deque<std::unique_ptr<Kept>> kept_;    // the oldest first
  std::vector<std::unique_ptr<Kept>> spare_;  // the one that was used last is taken first
};

}  // namespace fmha_bwd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
