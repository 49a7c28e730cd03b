#include "reference/sampled_attention.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "reference/arithmetic.h"
#include "reference/pool.h"
#include "reference/simd/tiles.h"
#include "reference/statistics.h"

namespace fmha_bwd {
namespace {

/// Sampled rows that one tile computes, and where they stand in the sample.
struct SampledTile {
  Rows rows;
  std::int64_t first;  // in the sample
};

/// The tiles of `flat`, ascending row numbers of a tensor of that shape [batch, head, row]; `rows_of` makes
/// Rows of a sequence, a head and positions. Sequence b of the problem has `first(b)` and `length(b)` in a
/// head.
template <typename First, typename Length, typename RowsOf>
std::vector<SampledTile> tiles_of(const ScoreTerms& terms, const std::vector<std::int64_t>& flat,
                                  const Shape& shape, std::int64_t size, const First& first,
                                  const Length& length, const RowsOf& rows_of) {
  const bool grouped = terms.problem.grouped();
  std::vector<SampledTile> tiles;
  std::int64_t sequence = 0;
  std::int64_t head = -1;
  std::vector<std::int64_t> positions;
  const auto finish = [&](std::size_t next) {
    if (positions.empty()) return;
    const auto begin = static_cast<std::int64_t>(next - positions.size());
    tiles.push_back({rows_of(sequence, head, std::move(positions)), begin});
    positions = {};
  };
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const std::int64_t row = flat[i] % shape.row;
    const std::int64_t row_head = flat[i] / shape.row % shape.head;
    std::int64_t row_sequence = flat[i] / shape.row / shape.head;
    if (grouped) {
      row_sequence = row_head == head ? sequence : 0;
      while (row >= first(row_sequence) + length(row_sequence)) ++row_sequence;
    }
    if (row_sequence != sequence || row_head != head || static_cast<std::int64_t>(positions.size()) == size) {
      finish(i);
      sequence = row_sequence;
      head = row_head;
    }
    positions.push_back(row - first(sequence));
  }
  finish(flat.size());
  return tiles;
}

template <typename Real>
class Sampled {
 public:
  Sampled(const ScoreTerms& terms, const Sample& sample, const KnownLseAndD& known)
      : terms_(terms),
        problem_(terms.problem),
        sample_(sample),
        known_(known),
        known_lse_(known.lse.begin(), known.lse.end()),
        known_d_(known.d.begin(), known.d.end()),
        own_lse_(known_lse_),
        own_d_(known_d_),
        query_tiles_([&terms] { return make_query_tile<Real>(terms); }),
        key_tiles_([&terms] { return make_key_tile<Real>(terms); }) {}

  Attention<Real> run(const Workers& workers) {
    // Five products for a query and its keys, four for a key and its queries.
    compute_queries(part_of(workers, 0.0, 5.0 / 9.0));
    compute_keys(part_of(workers, 5.0 / 9.0, 1.0));
    if (terms_.has_bias) compute_dbias({.threads = workers.threads});
    if (problem_.sink) {
      result_.dsink.resize(terms_.inputs.sink.size());
      sink_gradient(terms_, std::span(known_.lse), std::span(known_.d), result_.dsink.data(),
                    result_.statistics);
    }
    return std::move(result_);
  }

 private:
  template <typename T>
  static std::vector<T> room(const RowSample& rows, std::int64_t columns) {
    return std::vector<T>(rows.rows.size() * static_cast<std::size_t>(columns));
  }

  std::vector<SampledTile> query_tiles() const {
    return tiles_of(
        terms_, sample_.queries.rows, shape_of(TensorId::lse, problem_), kOwnedQueries,
        [&](std::int64_t s) { return terms_.sequences[static_cast<std::size_t>(s)].first_q; },
        [&](std::int64_t s) { return terms_.sequences[static_cast<std::size_t>(s)].seqlen_q; },
        [&](std::int64_t s, std::int64_t head, std::vector<std::int64_t> positions) {
          return terms_.query_rows(s, head, std::move(positions));
        });
  }
  std::vector<SampledTile> key_tiles() const {
    return tiles_of(
        terms_, sample_.keys.rows, shape_of(TensorId::dk, problem_), kOwnedKeys,
        [&](std::int64_t s) { return terms_.sequences[static_cast<std::size_t>(s)].first_k; },
        [&](std::int64_t s) { return terms_.sequences[static_cast<std::size_t>(s)].seqlen_k; },
        [&](std::int64_t s, std::int64_t head, std::vector<std::int64_t> positions) {
          return terms_.key_rows(s, head, std::move(positions));
        });
  }

  void compute_queries(const Workers& workers) {
    const std::vector<SampledTile> tiles = query_tiles();
    result_.o = room<Real>(sample_.queries, problem_.hdim_v);
    result_.lse = room<Real>(sample_.queries, 1);
    result_.d = room<Real>(sample_.queries, 1);
    result_.dq = room<Real>(sample_.queries, problem_.hdim_q);
    std::vector<Squares> squares = room<Squares>(sample_.queries, 1);
    std::vector<PairTally> tallies(tiles.size());
    const auto count = static_cast<std::int64_t>(tiles.size());
    parallel_for(
        count,
        [&](std::int64_t i) {  // the last rows of a causal mask see most: they come first
          const auto index = static_cast<std::size_t>(count - 1 - i);
          tallies[index] = compute_queries(tiles[index], squares.data() + tiles[index].first);
        },
        workers);
    PairTally tally;
    for (const PairTally& part : tallies) tally.add(part);
    double pairs = 0.0;
    for (const SampledTile& tile : tiles) {
      pairs += static_cast<double>(tile.rows.count()) *
               static_cast<double>(terms_.mask_of(tile.rows.sequence).seqlen_k());
    }
    describe(terms_, tally, pairs, std::span<const Real>(result_.d), result_.statistics);
    result_.statistics.rows = norms_of(squares);
    result_.statistics.query_squares = std::move(squares);
  }

  PairTally compute_queries(const SampledTile& sampled, Squares* squares) {
    const auto tile = query_tiles_.take();
    const Rows& rows = sampled.rows;
    Real* o = result_.o.data() + sampled.first * problem_.hdim_v;
    Real* lse = result_.lse.data() + sampled.first;
    Real* dq = result_.dq.data() + sampled.first * problem_.hdim_q;
    tile->forward(rows, o, lse);
    round_output(problem_, o, rows.count() * problem_.hdim_v);
    for (std::int64_t i = 0; i < rows.count(); ++i) {
      const auto row = static_cast<std::size_t>(rows.row(i));
      const float* d_o = terms_.inputs.d_o.data() + rows.row(i) * problem_.hdim_v;
      own_lse_[row] = lse[i];
      own_d_[row] = result_.d[static_cast<std::size_t>(sampled.first + i)] =
          dot(d_o, o + i * problem_.hdim_v, problem_.hdim_v);
    }
    const PairTally tally = tile->differentiate(rows, {own_lse_.data(), own_d_.data()}, dq, squares);
    scale_output(problem_, static_cast<Real>(problem_.scale), dq, rows.count() * problem_.hdim_q);
    return tally;
  }

  void compute_keys(const Workers& workers) {
    const std::vector<SampledTile> tiles = key_tiles();
    result_.dk = room<Real>(sample_.keys, problem_.hdim_q);
    result_.dv = room<Real>(sample_.keys, problem_.hdim_v);
    std::vector<Squares> squares = room<Squares>(sample_.keys, 1);
    parallel_for(
        static_cast<std::int64_t>(tiles.size()),
        [&](std::int64_t i) {
          const SampledTile& tile = tiles[static_cast<std::size_t>(i)];
          compute_keys(tile, squares.data() + tile.first);
        },
        workers);
    result_.statistics.columns = norms_of(squares);
    result_.statistics.key_squares = std::move(squares);
  }

  void compute_keys(const SampledTile& sampled, Squares* squares) {
    const auto tile = key_tiles_.take();
    const Rows& keys = sampled.rows;
    const Mask& mask = terms_.mask_of(keys.sequence);
    const Range queries = mask.queries_of({keys.positions.front(), keys.positions.back() + 1});
    tile->start(keys);
    for (std::int64_t member = 0; member < problem_.group_size(); ++member) {
      const std::int64_t head = keys.head * problem_.group_size() + member;
      for (std::int64_t first = queries.begin / kTile * kTile; first < queries.end; first += kTile) {
        tile->add(terms_.query_rows(keys.sequence, head, tile_positions(first, mask.seqlen_q(), kTile)),
                  {known_lse_.data(), known_d_.data()});
        tile->drop_dq();
      }
    }
    Real* dk = result_.dk.data() + sampled.first * problem_.hdim_q;
    Real* dv = result_.dv.data() + sampled.first * problem_.hdim_v;
    tile->finish(dk, dv, squares);
    scale_output(problem_, static_cast<Real>(problem_.scale), dk, keys.count() * problem_.hdim_q);
    round_output(problem_, dv, keys.count() * problem_.hdim_v);
  }

  /// A task owns some rows of one head of dBias, which in group mode too has the positions of each sequence.
  void compute_dbias(const Workers& workers) {
    const Shape bias = shape_of(TensorId::dbias, problem_);
    result_.dbias = room<Real>(sample_.bias, bias.column);
    std::vector<SampledTile> tiles;
    for (std::size_t i = 0; i < sample_.bias.rows.size(); ++i) {
      const Shape index = bias.index_of(sample_.bias.rows[i] * bias.column);
      if (tiles.empty() || tiles.back().rows.sequence != index.batch ||
          tiles.back().rows.head != index.head || tiles.back().rows.count() == kOwnedQueries) {
        tiles.push_back({{index.batch, index.head, 0, {}}, static_cast<std::int64_t>(i)});
      }
      tiles.back().rows.positions.push_back(index.row);
    }
    parallel_for(
        static_cast<std::int64_t>(tiles.size()),
        [&](std::int64_t i) { add_dbias(bias, tiles[static_cast<std::size_t>(i)]); }, workers);
  }

  void add_dbias(const Shape& bias, const SampledTile& sampled) {
    const auto tile = query_tiles_.take();
    const Rows& rows = sampled.rows;
    Real* dbias = result_.dbias.data() + sampled.first * bias.column;
    for_sharing(problem_, bias, rows.sequence, rows.head, [&](std::int64_t sequence, std::int64_t head) {
      std::vector<std::int64_t> positions = rows.positions;
      std::erase_if(positions, [&](std::int64_t row) { return row >= terms_.mask_of(sequence).seqlen_q(); });
      if (positions.empty()) return;
      tile->add_dbias(terms_.query_rows(sequence, head, std::move(positions)),
                      {known_lse_.data(), known_d_.data()}, dbias, bias.column);
    });
    round_output(problem_, dbias, rows.count() * bias.column);
  }

  const ScoreTerms& terms_;
  const Problem& problem_;
  const Sample& sample_;
  const KnownLseAndD& known_;
  std::vector<Real> known_lse_;  // of all rows
  std::vector<Real> known_d_;
  std::vector<Real> own_lse_;  // the sampled rows' as computed here
  std::vector<Real> own_d_;
  Pool<QueryTile<Real>> query_tiles_;
  Pool<KeyTile<Real>> key_tiles_;
  Attention<Real> result_;
};

}  // namespace

template <typename Real>
Attention<Real> sampled_attention(const ScoreTerms& terms, const Sample& sample, const KnownLseAndD& known,
                                  const Workers& workers) {
  return Sampled<Real>(terms, sample, known).run(workers);
}

template Attention<double> sampled_attention(const ScoreTerms&, const Sample&, const KnownLseAndD&,
                                             const Workers&);
template Attention<float> sampled_attention(const ScoreTerms&, const Sample&, const KnownLseAndD&,
                                            const Workers&);

}  // namespace fmha_bwd
