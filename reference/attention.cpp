#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "reference/matrix.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kTile = 64;  // queries and keys of a tile
constexpr double kNegligible = 1e-9;

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

/// Collects the squared norms of rows, by tasks that are merged in order.
struct NormTally {
  double sum = 0.0;
  double max = 0.0;
  std::int64_t count = 0;

  void add(double squared_norm) {
    sum += squared_norm;
    max = std::max(max, squared_norm);
    ++count;
  }
  void add(const NormTally& other) {
    sum += other.sum;
    max = std::max(max, other.max);
    count += other.count;
  }
  Magnitude magnitude() const { return {std::sqrt(sum / static_cast<double>(count)), std::sqrt(max)}; }
};

/// What one task contributes to the statistics.
struct Tally {
  NormTally p;
  NormTally ds;
  std::int64_t significant = 0;  // pairs with P >= kNegligible
  double max_abs_score = 0.0;

  void add(const Tally& other) {
    p.add(other.p);
    ds.add(other.ds);
    significant += other.significant;
    max_abs_score = std::max(max_abs_score, other.max_abs_score);
  }
};

/// Consecutive queries of one head, with what is known of them so far.
template <typename Real>
struct QueryTile {
  std::int64_t first_row;  // of the tile, among the rows of all heads
  Range queries;
  Matrix<Real> q;    // [queries, hdim_q]
  Matrix<Real> d_o;  // [queries, hdim_v]
  std::vector<Real> lse;
  std::vector<Real> d;
};

/// Consecutive keys of one head.
template <typename Real>
struct KeyTile {
  Range keys;
  Matrix<Real> k;             // [keys, hdim_q]
  Matrix<Real> k_transposed;  // [hdim_q, keys]
  Matrix<Real> v;             // [keys, hdim_v]
  Matrix<Real> v_transposed;  // [hdim_v, keys]
};

Range tile_at(std::int64_t begin, std::int64_t end) { return {begin, std::min(begin + kTile, end)}; }
std::int64_t tiles_in(std::int64_t length) { return (length + kTile - 1) / kTile; }

template <typename Arithmetic>
class Computation {
 public:
  using Real = typename Arithmetic::Real;

  Computation(Arithmetic arithmetic, const Problem& problem, const Mask& mask, const AttentionInputs& inputs)
      : arithmetic_(arithmetic), problem_(problem), mask_(mask), inputs_(inputs) {
    const auto elements = [&](TensorId id) {
      return static_cast<std::size_t>(shape_of(id, problem_).elements());
    };
    if (inputs.q.size() != elements(TensorId::q) || inputs.k.size() != elements(TensorId::k) ||
        inputs.v.size() != elements(TensorId::v) || inputs.d_o.size() != elements(TensorId::d_o)) {
      throw std::invalid_argument("attention: an input does not fill its shape");
    }
    if (mask.seqlen_q() != problem.seqlen_q || mask.seqlen_k() != problem.seqlen_k) {
      throw std::invalid_argument("attention: the mask does not have the problem's sequence lengths");
    }
    result_.o.resize(elements(TensorId::o));
    result_.lse.resize(elements(TensorId::lse));
    result_.d.resize(elements(TensorId::d));
    result_.dq.resize(elements(TensorId::dq));
    result_.dk.resize(elements(TensorId::dk));
    result_.dv.resize(elements(TensorId::dv));
  }

  Attention<Real> run(const Workers& workers) {
    // Six products over the visible pairs for the queries, four for the keys.
    const Tally by_query =
        tally(problem_.batch * problem_.nhead_q * tiles_in(problem_.seqlen_q), part_of(workers, 0.0, 0.6),
              [this](std::int64_t task) { return compute_queries(task); });
    const Tally by_key =
        tally(problem_.batch * problem_.nhead_k * tiles_in(problem_.seqlen_k), part_of(workers, 0.6, 1.0),
              [this](std::int64_t task) { return compute_keys(task); });

    const double pairs = static_cast<double>(problem_.batch * problem_.nhead_q) *
                         static_cast<double>(problem_.seqlen_q) * static_cast<double>(problem_.seqlen_k);
    const auto [d_min, d_max] = std::minmax_element(result_.d.begin(), result_.d.end());
    AttentionStatistics& statistics = result_.statistics;
    statistics.p_sparsity = 1.0 - static_cast<double>(by_query.significant) / pairs;
    statistics.d_range = {static_cast<double>(*d_min), static_cast<double>(*d_max)};
    statistics.max_abs_score = by_query.max_abs_score;
    statistics.p_row = by_query.p.magnitude();
    statistics.ds_row = by_query.ds.magnitude();
    statistics.p_column = by_key.p.magnitude();
    statistics.ds_column = by_key.ds.magnitude();
    return std::move(result_);
  }

 private:
  template <typename Task>
  static Tally tally(std::int64_t tasks, const Workers& workers, const Task& task) {
    std::vector<Tally> parts(static_cast<std::size_t>(tasks));
    parallel_for(
        tasks, [&](std::int64_t index) { parts[index] = task(index); }, workers);
    Tally whole;
    for (const Tally& part : parts) whole.add(part);
    return whole;
  }

  /// O, LSE, D and dQ of one tile of queries.
  Tally compute_queries(std::int64_t task) {
    const std::int64_t tiles = tiles_in(problem_.seqlen_q);
    const std::int64_t head = task / tiles;  // among all of the batch
    QueryTile<Real> tile = load_queries(head, tile_at(task % tiles * kTile, problem_.seqlen_q));
    const std::int64_t key_head = head / problem_.group_size();
    const Range keys = mask_.keys_of(tile.queries);

    Tally tally;
    tile.lse = log_sum_exp(tile, key_head, keys, tally);

    Matrix<Real> o(tile.queries.size(), problem_.hdim_v);
    for (std::int64_t first = keys.begin; first < keys.end; first += kTile) {
      const KeyTile<Real> other = load_keys(key_head, tile_at(first, keys.end));
      multiply_add(rounded(probabilities(tile, other)), other.v, o);
    }
    o = rounded(std::move(o));
    for (std::int64_t i = 0; i < o.rows; ++i) {
      for (std::int64_t c = 0; c < o.columns; ++c) tile.d[i] += tile.d_o.row(i)[c] * o.row(i)[c];
    }

    Matrix<Real> dq(tile.queries.size(), problem_.hdim_q);
    std::vector<double> p_squares(static_cast<std::size_t>(dq.rows));
    std::vector<double> ds_squares(static_cast<std::size_t>(dq.rows));
    for (std::int64_t first = keys.begin; first < keys.end; first += kTile) {
      const KeyTile<Real> other = load_keys(key_head, tile_at(first, keys.end));
      const Matrix<Real> p = probabilities(tile, other);
      const Matrix<Real> ds = score_gradients(tile, other, p);
      for (std::int64_t i = 0; i < p.rows; ++i) {
        for (std::int64_t j = 0; j < p.columns; ++j) {
          const auto probability = static_cast<double>(p.row(i)[j]);
          const auto gradient = static_cast<double>(ds.row(i)[j]);
          p_squares[i] += probability * probability;
          ds_squares[i] += gradient * gradient;
          tally.significant += probability >= kNegligible ? 1 : 0;
        }
      }
      multiply_add(rounded(ds), other.k, dq);
    }
    for (const double squared_norm : p_squares) tally.p.add(squared_norm);
    for (const double squared_norm : ds_squares) tally.ds.add(squared_norm);

    store(o, Real{1}, tile.first_row, result_.o);
    store(dq, scale(), tile.first_row, result_.dq);
    std::copy(tile.lse.begin(), tile.lse.end(), result_.lse.begin() + tile.first_row);
    std::copy(tile.d.begin(), tile.d.end(), result_.d.begin() + tile.first_row);
    return tally;
  }

  /// dK and dV of one tile of keys, summed over the query heads of its group.
  Tally compute_keys(std::int64_t task) {
    const std::int64_t tiles = tiles_in(problem_.seqlen_k);
    const std::int64_t key_head = task / tiles;
    const KeyTile<Real> tile = load_keys(key_head, tile_at(task % tiles * kTile, problem_.seqlen_k));
    const Range queries = mask_.queries_of(tile.keys);

    Matrix<Real> dk(tile.keys.size(), problem_.hdim_q);
    Matrix<Real> dv(tile.keys.size(), problem_.hdim_v);
    std::vector<double> p_squares(static_cast<std::size_t>(dk.rows));
    std::vector<double> ds_squares(static_cast<std::size_t>(dk.rows));
    for (std::int64_t member = 0; member < problem_.group_size(); ++member) {
      const std::int64_t head = key_head * problem_.group_size() + member;
      for (std::int64_t first = queries.begin; first < queries.end; first += kTile) {
        QueryTile<Real> other = load_queries(head, tile_at(first, queries.end));
        std::copy_n(result_.lse.begin() + other.first_row, other.lse.size(), other.lse.begin());
        std::copy_n(result_.d.begin() + other.first_row, other.d.size(), other.d.begin());
        const Matrix<Real> p = probabilities(other, tile);
        const Matrix<Real> ds = score_gradients(other, tile, p);
        for (std::int64_t i = 0; i < p.rows; ++i) {
          for (std::int64_t j = 0; j < p.columns; ++j) {
            const auto probability = static_cast<double>(p.row(i)[j]);
            const auto gradient = static_cast<double>(ds.row(i)[j]);
            p_squares[j] += probability * probability;
            ds_squares[j] += gradient * gradient;
          }
        }
        multiply_transposed_add(rounded(p), other.d_o, dv);
        multiply_transposed_add(rounded(ds), other.q, dk);
      }
    }
    Tally tally;
    for (const double squared_norm : p_squares) tally.p.add(squared_norm);
    for (const double squared_norm : ds_squares) tally.ds.add(squared_norm);

    const std::int64_t first_row = key_head * problem_.seqlen_k + tile.keys.begin;
    store(dk, scale(), first_row, result_.dk);
    store(dv, Real{1}, first_row, result_.dv);
    return tally;
  }

  /// S = scale * Q K^T, the invisible pairs too.
  Matrix<Real> scores(const QueryTile<Real>& q, const KeyTile<Real>& k) const {
    Matrix<Real> s(q.queries.size(), k.keys.size());
    multiply_add(q.q, k.k_transposed, s);
    for (Real& score : s.elements) score *= scale();
    return s;
  }

  /// The columns of a tile of scores that its row i sees.
  Range visible_columns(const QueryTile<Real>& q, const KeyTile<Real>& k, std::int64_t i) const {
    const Range visible = mask_.visible_keys(q.queries.begin + i);
    return {std::max(visible.begin, k.keys.begin) - k.keys.begin,
            std::min(visible.end, k.keys.end) - k.keys.begin};
  }

  /// log sum exp of each query's visible scores, by a running maximum and a sum relative to it.
  std::vector<Real> log_sum_exp(const QueryTile<Real>& q, std::int64_t key_head, Range keys,
                                Tally& tally) const {
    constexpr Real kNone = -std::numeric_limits<Real>::infinity();
    std::vector<Real> maximum(static_cast<std::size_t>(q.queries.size()), kNone);
    std::vector<Real> sum(maximum.size());
    for (std::int64_t first = keys.begin; first < keys.end; first += kTile) {
      const KeyTile<Real> k = load_keys(key_head, tile_at(first, keys.end));
      const Matrix<Real> s = scores(q, k);
      for (std::int64_t i = 0; i < s.rows; ++i) {
        const Range columns = visible_columns(q, k, i);
        if (columns.empty()) continue;
        const Real* score = s.row(i);
        const Real before = maximum[i];
        for (std::int64_t j = columns.begin; j < columns.end; ++j) {
          maximum[i] = std::max(maximum[i], score[j]);
          tally.max_abs_score = std::max(tally.max_abs_score, std::abs(static_cast<double>(score[j])));
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

  /// P of a tile, from LSE.
  Matrix<Real> probabilities(const QueryTile<Real>& q, const KeyTile<Real>& k) const {
    const Matrix<Real> s = scores(q, k);
    Matrix<Real> p(s.rows, s.columns);
    for (std::int64_t i = 0; i < p.rows; ++i) {
      const Range columns = visible_columns(q, k, i);
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        p.row(i)[j] = std::exp(s.row(i)[j] - q.lse[i]);
      }
    }
    return p;
  }

  /// dS = P * (dO V^T - D) of a tile.
  Matrix<Real> score_gradients(const QueryTile<Real>& q, const KeyTile<Real>& k,
                               const Matrix<Real>& p) const {
    Matrix<Real> ds(p.rows, p.columns);
    multiply_add(q.d_o, k.v_transposed, ds);
    for (std::int64_t i = 0; i < ds.rows; ++i) {
      for (std::int64_t j = 0; j < ds.columns; ++j) ds.row(i)[j] = p.row(i)[j] * (ds.row(i)[j] - q.d[i]);
    }
    return ds;
  }

  QueryTile<Real> load_queries(std::int64_t head, Range queries) const {
    const std::int64_t first_row = head * problem_.seqlen_q + queries.begin;
    const auto rows = static_cast<std::size_t>(queries.size());
    return {first_row,
            queries,
            load(inputs_.q, first_row, queries.size(), problem_.hdim_q),
            load(inputs_.d_o, first_row, queries.size(), problem_.hdim_v),
            std::vector<Real>(rows),
            std::vector<Real>(rows)};
  }

  KeyTile<Real> load_keys(std::int64_t key_head, Range keys) const {
    const std::int64_t first_row = key_head * problem_.seqlen_k + keys.begin;
    KeyTile<Real> tile{keys,
                       load(inputs_.k, first_row, keys.size(), problem_.hdim_q),
                       {},
                       load(inputs_.v, first_row, keys.size(), problem_.hdim_v),
                       {}};
    tile.k_transposed = transposed(tile.k);
    tile.v_transposed = transposed(tile.v);
    return tile;
  }

  static Matrix<Real> load(const std::vector<float>& tensor, std::int64_t first_row, std::int64_t rows,
                           std::int64_t columns) {
    Matrix<Real> tile(rows, columns);
    std::copy_n(tensor.begin() + first_row * columns, rows * columns, tile.elements.begin());
    return tile;
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
  const Mask& mask_;
  const AttentionInputs& inputs_;
  Attention<Real> result_;
};

}  // namespace

ExactAttention exact_attention(const Problem& problem, const Mask& mask, const AttentionInputs& inputs,
                               const Workers& workers) {
  return Computation(ExactArithmetic{}, problem, mask, inputs).run(workers);
}

TextbookAttention textbook_attention(const Problem& problem, const Mask& mask, const AttentionInputs& inputs,
                                     const Workers& workers) {
  return Computation(TextbookArithmetic{problem.dtype}, problem, mask, inputs).run(workers);
}

}  // namespace fmha_bwd
