#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "reference/matrix.h"
#include "reference/scores.h"
#include "reference/tally.h"
#include "reference/tiles.h"

namespace fmha_bwd {
namespace {

/// fp64 throughout: nothing is rounded.
struct ExactArithmetic {
  using Real = double;
  double rounded(double value) const { return value; }
};

/// fp32, with operands and outputs rounded to `dtype`.
struct TextbookArithmetic {
  using Real = float;
  DType dtype;
  float rounded(float value) const { return round_to(dtype, value); }
};

/// Pairs of a query and a key, of all heads of all sequences.
double pairs_of(const Problem& problem, const std::vector<Sequence>& sequences) {
  double pairs = 0.0;
  for (const Sequence& s : sequences) {
    pairs += static_cast<double>(s.seqlen_q) * static_cast<double>(s.seqlen_k);
  }
  return pairs * static_cast<double>(problem.nhead_q);
}

void require_inputs(const Problem& problem, const AttentionInputs& inputs) {
  const auto require = [&](TensorId id, const std::vector<float>& values) {
    if (!has_tensor(problem, id)) return;
    if (static_cast<std::int64_t>(values.size()) == shape_of(id, problem).elements()) return;
    throw std::invalid_argument("attention: " + std::string(name_of(id)) + " does not fill its shape");
  };
  require(TensorId::q, inputs.q);
  require(TensorId::k, inputs.k);
  require(TensorId::v, inputs.v);
  require(TensorId::d_o, inputs.d_o);
  require(TensorId::bias, inputs.bias);
  require(TensorId::slopes, inputs.slopes);
  require(TensorId::sink, inputs.sink);
}

template <typename Arithmetic>
class Computation {
 public:
  using Real = typename Arithmetic::Real;

  Computation(Arithmetic arithmetic, const Problem& problem, const MaskSpec& mask,
              const AttentionInputs& inputs)
      : arithmetic_(arithmetic),
        problem_(problem),
        inputs_(inputs),
        tiles_(problem, inputs),
        scores_(problem, mask, inputs, tiles_.sequences()) {
    require_inputs(problem, inputs);
    const auto elements = [&](TensorId id) {
      return has_tensor(problem, id) ? static_cast<std::size_t>(shape_of(id, problem).elements()) : 0;
    };
    result_.o.resize(elements(TensorId::o));
    result_.lse.resize(elements(TensorId::lse));
    result_.d.resize(elements(TensorId::d));
    result_.dq.resize(elements(TensorId::dq));
    result_.dk.resize(elements(TensorId::dk));
    result_.dv.resize(elements(TensorId::dv));
    result_.dbias.resize(elements(TensorId::dbias));
    result_.dsink.resize(elements(TensorId::dsink));
  }

  Attention<Real> run(const Workers& workers) {
    // Six products over the visible pairs for the queries, four for the keys, two for the bias.
    const double products = problem_.bias == BiasShape::none ? 10.0 : 12.0;
    const std::vector<Rows> queries = tiles_.query_rows();
    const Tally by_query = tally(queries, part_of(workers, 0.0, 6.0 / products),
                                 [this](const Rows& rows) { return compute_queries(rows); });
    const std::vector<Rows> keys = tiles_.key_rows();
    const Tally by_key = tally(keys, part_of(workers, 6.0 / products, 10.0 / products),
                               [this](const Rows& rows) { return compute_keys(rows); });
    if (problem_.bias != BiasShape::none) compute_dbias(part_of(workers, 10.0 / products, 1.0));
    if (problem_.sink) compute_dsink();
    describe(by_query, by_key);
    return std::move(result_);
  }

 private:
  template <typename Task>
  static Tally tally(const std::vector<Rows>& tasks, const Workers& workers, const Task& task) {
    std::vector<Tally> parts(tasks.size());
    parallel_for(
        static_cast<std::int64_t>(tasks.size()),
        [&](std::int64_t index) { parts[index] = task(tasks[index]); }, workers);
    Tally whole;
    for (const Tally& part : parts) whole.add(part);
    return whole;
  }

  void describe(const Tally& by_query, const Tally& by_key) {
    AttentionStatistics& statistics = result_.statistics;
    const double pairs = pairs_of(problem_, tiles_.sequences());
    if (pairs > 0.0) statistics.p_sparsity = 1.0 - static_cast<double>(by_query.significant) / pairs;
    if (!result_.d.empty()) {
      const auto [d_min, d_max] = std::minmax_element(result_.d.begin(), result_.d.end());
      statistics.d_range = {static_cast<double>(*d_min), static_cast<double>(*d_max)};
    }
    statistics.max_score = by_query.max_score;
    if (problem_.sink) {
      for (const float sink : inputs_.sink) {
        statistics.max_score = std::max(statistics.max_score, std::abs(static_cast<double>(sink)));
      }
    }
    statistics.rows = by_query.norms();
    statistics.columns = by_key.norms();
  }

  /// O, LSE, D and dQ of one tile of queries.
  Tally compute_queries(const Rows& rows) {
    QueryTile<Real> tile = tiles_.queries(rows);
    const Range keys = scores_.mask_of(rows.sequence).keys_of(rows.range);
    const auto keys_at = [&](std::int64_t first) {
      return tiles_.keys({rows.sequence, rows.head / problem_.group_size(), tile_at(first, keys.end)});
    };
    tile.lse = log_sum_exp(tile, keys);

    Matrix<Real> o(rows.range.size(), problem_.hdim_v);
    for (std::int64_t first = keys.begin; first < keys.end; first += kTile) {
      const KeyTile<Real> other = keys_at(first);
      ScoreTile<Real> pairs = scores_.probabilities(tile, other);
      multiply_add(rounded(times(std::move(pairs.p), pairs.keep)), other.v, o);
    }
    o = rounded(std::move(o));
    for (std::int64_t i = 0; i < o.rows; ++i) {
      for (std::int64_t c = 0; c < o.columns; ++c) tile.d[i] += tile.d_o.row(i)[c] * o.row(i)[c];
    }

    Tally tally;
    Matrix<Real> dq(rows.range.size(), problem_.hdim_q);
    Squares squares(dq.rows);
    for (std::int64_t first = keys.begin; first < keys.end; first += kTile) {
      const KeyTile<Real> other = keys_at(first);
      const ScoreTile<Real> pairs = scores_.probabilities(tile, other);
      Matrix<Real> ds = scores_.gradients(tile, other, pairs);
      squares.add_rows(pairs, ds);
      count_significant(pairs, tally);
      multiply_add(rounded(times(std::move(ds), pairs.slope)), other.k, dq);
    }
    squares.tell(tally);

    store(o, Real{1}, tile.first_row, result_.o);
    store(dq, scale(), tile.first_row, result_.dq);
    std::copy(tile.lse.begin(), tile.lse.end(), result_.lse.begin() + tile.first_row);
    std::copy(tile.d.begin(), tile.d.end(), result_.d.begin() + tile.first_row);
    return tally;
  }

  /// log sum exp of each query's visible scores and the sink, by a running maximum and a sum relative to it.
  std::vector<Real> log_sum_exp(const QueryTile<Real>& q, Range keys) const {
    constexpr Real kNone = -std::numeric_limits<Real>::infinity();
    const Real sink = problem_.sink ? static_cast<Real>(inputs_.sink[q.rows.head]) : kNone;
    std::vector<Real> maximum(q.lse.size(), sink);
    std::vector<Real> sum(q.lse.size(), problem_.sink ? Real{1} : Real{0});
    for (std::int64_t first = keys.begin; first < keys.end; first += kTile) {
      const KeyTile<Real> k =
          tiles_.keys({q.rows.sequence, q.rows.head / problem_.group_size(), tile_at(first, keys.end)});
      const Matrix<Real> s = scores_.scores(q, k).s;
      for (std::int64_t i = 0; i < s.rows; ++i) {
        const Range columns = scores_.visible_columns(q, k, i);
        if (columns.empty()) continue;
        const Real* score = s.row(i);
        const Real before = maximum[i];
        for (std::int64_t j = columns.begin; j < columns.end; ++j) {
          maximum[i] = std::max(maximum[i], score[j]);
        }
        sum[i] *= std::exp(before - maximum[i]);
        for (std::int64_t j = columns.begin; j < columns.end; ++j) sum[i] += std::exp(score[j] - maximum[i]);
      }
    }
    std::vector<Real> lse(maximum.size(), kNone);
    for (std::size_t i = 0; i < lse.size(); ++i) {
      if (sum[i] > Real{0}) lse[i] = maximum[i] + std::log(sum[i]);
    }
    return lse;
  }

  /// Counts the pairs whose P is not negligible, and looks for the largest of their scores.
  static void count_significant(const ScoreTile<Real>& tile, Tally& tally) {
    const Matrix<Real>& size = tile.size.elements.empty() ? tile.s : tile.size;
    for (std::size_t n = 0; n < tile.p.elements.size(); ++n) {
      if (!(static_cast<double>(tile.p.elements[n]) >= kNegligible)) continue;
      ++tally.significant;
      tally.max_score = std::max(tally.max_score, std::abs(static_cast<double>(size.elements[n])));
    }
  }

  /// dK and dV of one tile of keys, summed over the query heads of its group.
  Tally compute_keys(const Rows& rows) {
    const KeyTile<Real> tile = tiles_.keys(rows);
    const Range queries = scores_.mask_of(rows.sequence).queries_of(rows.range);

    Matrix<Real> dk(rows.range.size(), problem_.hdim_q);
    Matrix<Real> dv(rows.range.size(), problem_.hdim_v);
    Squares squares(dk.rows);
    for (std::int64_t member = 0; member < problem_.group_size(); ++member) {
      const std::int64_t head = rows.head * problem_.group_size() + member;
      for (std::int64_t first = queries.begin; first < queries.end; first += kTile) {
        const QueryTile<Real> other = known_queries({rows.sequence, head, tile_at(first, queries.end)});
        ScoreTile<Real> pairs = scores_.probabilities(other, tile);
        Matrix<Real> ds = scores_.gradients(other, tile, pairs);
        squares.add_columns(pairs, ds);
        multiply_transposed_add(rounded(times(std::move(pairs.p), pairs.keep)), other.d_o, dv);
        multiply_transposed_add(rounded(times(std::move(ds), pairs.slope)), other.q, dk);
      }
    }
    Tally tally;
    squares.tell(tally);
    store(dk, scale(), tile.first_row, result_.dk);
    store(dv, Real{1}, tile.first_row, result_.dv);
    return tally;
  }

  /// A tile of queries whose LSE and D are computed.
  QueryTile<Real> known_queries(const Rows& rows) const {
    QueryTile<Real> tile = tiles_.queries(rows);
    std::copy_n(result_.lse.begin() + tile.first_row, tile.lse.size(), tile.lse.begin());
    std::copy_n(result_.d.begin() + tile.first_row, tile.d.size(), tile.d.begin());
    return tile;
  }

  /// dBias: a task owns a few rows of it, and sums them over the sequences and heads that share them.
  void compute_dbias(const Workers& workers) {
    const Shape bias = shape_of(TensorId::dbias, problem_);
    const std::int64_t tiles = (bias.row + kTile - 1) / kTile;
    parallel_for(
        bias.batch * bias.head * tiles,
        [&](std::int64_t task) {
          const Shape index = Shape{bias.batch, bias.head, tiles, 1}.index_of(task);
          add_dbias(bias, index, tile_at(index.row * kTile, bias.row));
        },
        workers);
  }

  void add_dbias(const Shape& bias, const Shape& index, Range queries) {
    const Range batches = bias.batch == 1 ? Range{0, problem_.batch} : Range{index.batch, index.batch + 1};
    const Range heads = bias.head == 1 ? Range{0, problem_.nhead_q} : Range{index.head, index.head + 1};
    for (std::int64_t b = batches.begin; b < batches.end; ++b) {
      const Range there = {queries.begin, std::min(queries.end, scores_.mask_of(b).seqlen_q())};
      for (std::int64_t h = heads.begin; h < heads.end && !there.empty(); ++h) add_dbias({b, h, there});
    }
    const std::int64_t first = ((index.batch * bias.head + index.head) * bias.row + queries.begin);
    const auto begin = result_.dbias.begin() + first * bias.column;
    std::transform(begin, begin + queries.size() * bias.column, begin,
                   [&](Real value) { return arithmetic_.rounded(value); });
  }

  void add_dbias(const Rows& rows) {
    const QueryTile<Real> tile = known_queries(rows);
    const Range keys = scores_.mask_of(rows.sequence).keys_of(rows.range);
    for (std::int64_t first = keys.begin; first < keys.end; first += kTile) {
      const KeyTile<Real> other =
          tiles_.keys({rows.sequence, rows.head / problem_.group_size(), tile_at(first, keys.end)});
      const Matrix<Real> ds = scores_.gradients(tile, other, scores_.probabilities(tile, other));
      for (std::int64_t i = 0; i < ds.rows; ++i) {
        Real* sum = result_.dbias.data() + scores_.bias_offset(rows, tile.query(i), other.key(0));
        for (std::int64_t j = 0; j < ds.columns; ++j) sum[j] += ds.row(i)[j];
      }
    }
  }

  void compute_dsink() {
    const Shape shape = shape_of(TensorId::d, problem_);
    for (std::size_t row = 0; row < result_.d.size(); ++row) {
      const auto head = static_cast<std::size_t>(shape.index_of(static_cast<std::int64_t>(row)).head);
      const Real p = std::exp(static_cast<Real>(inputs_.sink[head]) - result_.lse[row]);
      result_.dsink[head] -= p * result_.d[row];
    }
  }

  /// tensor[first_row ...] = factor * tile, rounded.
  void store(const Matrix<Real>& tile, Real factor, std::int64_t first_row, std::vector<Real>& tensor) const {
    std::transform(tile.elements.begin(), tile.elements.end(), tensor.begin() + first_row * tile.columns,
                   [&](Real value) { return arithmetic_.rounded(factor * value); });
  }

  Matrix<Real> rounded(Matrix<Real> tile) const {
    for (Real& value : tile.elements) value = arithmetic_.rounded(value);
    return tile;
  }

  Real scale() const { return static_cast<Real>(problem_.scale); }

  Arithmetic arithmetic_;
  const Problem& problem_;
  const AttentionInputs& inputs_;
  Tiles<Real> tiles_;
  Scores<Real> scores_;
  Attention<Real> result_;
};

}  // namespace

ExactAttention exact_attention(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
                               const Workers& workers) {
  return Computation(ExactArithmetic{}, problem, mask, inputs).run(workers);
}

TextbookAttention textbook_attention(const Problem& problem, const MaskSpec& mask,
                                     const AttentionInputs& inputs, const Workers& workers) {
  return Computation(TextbookArithmetic{problem.dtype}, problem, mask, inputs).run(workers);
}

}  // namespace fmha_bwd
