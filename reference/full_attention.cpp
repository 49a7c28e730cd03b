#include "reference/full_attention.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <new>
#include <span>
#include <vector>

#include "base/divided_up.h"
#include "reference/arithmetic.h"
#include "reference/pool.h"
#include "reference/simd/tiles.h"
#include "reference/statistics.h"

namespace fmha_bwd {
namespace {

/// How many rows a task owns: as many as fit, or half of them where there would be too few tasks for the
/// cores of a large machine. It does not depend on the machine's own.
std::int64_t owned_rows(std::int64_t rows, std::int64_t most) {
  constexpr std::int64_t kEnoughTasks = 128;
  return rows < kEnoughTasks * most ? most / 2 : most;
}

/// Every tile of queries, those that see most first.
std::vector<Rows> all_query_tiles(const ScoreTerms& terms) {
  const std::int64_t size = owned_rows(shape_of(TensorId::lse, terms.problem).rows(), kOwnedQueries);
  std::vector<Rows> tiles;
  for (std::size_t s = 0; s < terms.sequences.size(); ++s) {
    const std::int64_t length = terms.sequences[s].seqlen_q;
    for (std::int64_t head = 0; head < terms.problem.nhead_q; ++head) {
      for (std::int64_t first = 0; first < length; first += size) {
        tiles.push_back(
            terms.query_rows(static_cast<std::int64_t>(s), head, tile_positions(first, length, size)));
      }
    }
  }
  const auto keys_seen = [&](const Rows& rows) {
    return terms.mask_of(rows.sequence).keys_of({rows.positions.front(), rows.positions.back() + 1}).size();
  };
  std::stable_sort(tiles.begin(), tiles.end(),
                   [&](const Rows& a, const Rows& b) { return keys_seen(a) > keys_seen(b); });
  return tiles;
}

/// One tile of keys and the tiles of queries that see any of it, for each query head of its group.
struct Chain {
  std::int64_t sequence;
  std::int64_t head;     // of keys
  std::int64_t tile;     // of keys
  Range query_tiles;     // its ends never move back from one tile of keys to the next
  std::int64_t turns;    // where the turns of the group's first head begin
  std::int64_t tiles_q;  // of the sequence
};

/// A tile of queries of one of the query heads that share a head of keys.
struct QueryTileAt {
  std::int64_t member;
  std::int64_t tile;
};

/// The chains in the order in which they are started: the first tile of keys of every head, then the second
/// of every head, and so on. A chain waits for the one before it in its head alone, which has been started by
/// then: so the wait always ends, and at each tile of queries they take turns in their order.
class Chains {
 public:
  explicit Chains(const ScoreTerms& terms)
      : keys_(owned_rows(shape_of(TensorId::dk, terms.problem).rows(), kOwnedKeys)) {
    std::vector<std::vector<Chain>> heads;
    for (std::size_t s = 0; s < terms.sequences.size(); ++s) {
      const std::int64_t tiles_q = divided_up(terms.sequences[s].seqlen_q, kTile);
      for (std::int64_t head = 0; head < terms.problem.nhead_k; ++head) {
        heads.push_back(chains_of(terms, static_cast<std::int64_t>(s), head, tiles_q));
      }
    }
    for (std::size_t tile = 0, left = 1; left > 0; ++tile) {
      left = 0;
      for (const std::vector<Chain>& head : heads) {
        if (tile >= head.size()) continue;
        all_.push_back(head[tile]);
        ++left;
      }
    }
    turns_ = std::vector<std::atomic<std::int64_t>>(first_turns_.size());
    for (std::size_t i = 0; i < turns_.size(); ++i) turns_[i] = first_turns_[i];
  }

  std::int64_t count() const { return static_cast<std::int64_t>(all_.size()); }
  /// Keys of a tile.
  std::int64_t keys() const { return keys_; }
  const Chain& at(std::int64_t index) const { return all_[static_cast<std::size_t>(index)]; }

  /// Whether `chain` may add to dQ of those queries.
  bool is_turn(const Chain& chain, const QueryTileAt& queries) {
    return turn_of(chain, queries).load() == chain.tile;
  }
  /// Waits until it may; false where another chain has failed.
  bool await(const Chain& chain, const QueryTileAt& queries) {
    std::atomic<std::int64_t>& turn = turn_of(chain, queries);
    for (std::int64_t now = turn.load(); now != chain.tile; now = turn.load()) {
      if (now == kFailed) return false;
      turn.wait(now);
    }
    return true;
  }
  /// Gives the turn to the next chain, unless one has failed since.
  void pass_on(const Chain& chain, const QueryTileAt& queries) {
    std::atomic<std::int64_t>& turn = turn_of(chain, queries);
    std::int64_t own = chain.tile;
    turn.compare_exchange_strong(own, chain.tile + 1);
    turn.notify_all();
  }
  /// Ends all waiting.
  void fail() {
    for (std::atomic<std::int64_t>& turn : turns_) {
      turn.store(kFailed);
      turn.notify_all();
    }
  }

 private:
  static constexpr std::int64_t kFailed = -1;

  std::vector<Chain> chains_of(const ScoreTerms& terms, std::int64_t sequence, std::int64_t head,
                               std::int64_t tiles_q) {
    const Mask& mask = terms.mask_of(sequence);
    const auto turns = static_cast<std::int64_t>(first_turns_.size());
    std::vector<std::int64_t> first_turns(static_cast<std::size_t>(tiles_q));
    std::vector<Chain> chains;
    Range seen;
    std::int64_t covered = 0;
    for (std::int64_t tile = 0; tile * keys_ < mask.seqlen_k(); ++tile) {
      const Range queries = mask.queries_of({tile * keys_, std::min((tile + 1) * keys_, mask.seqlen_k())});
      if (!queries.empty()) {
        seen.begin = std::max(seen.begin, queries.begin / kTile);
        seen.end = std::max(seen.end, divided_up(queries.end, kTile));
      }
      for (covered = std::max(covered, seen.begin); covered < seen.end; ++covered) {
        first_turns[static_cast<std::size_t>(covered)] = tile;
      }
      chains.push_back({sequence, head, tile, seen, turns, tiles_q});
    }
    for (std::int64_t member = 0; member < terms.problem.group_size(); ++member) {
      first_turns_.insert(first_turns_.end(), first_turns.begin(), first_turns.end());
    }
    return chains;
  }

  std::atomic<std::int64_t>& turn_of(const Chain& chain, const QueryTileAt& queries) {
    return turns_[static_cast<std::size_t>(chain.turns + queries.member * chain.tiles_q + queries.tile)];
  }

  std::int64_t keys_;
  std::vector<Chain> all_;
  std::vector<std::int64_t>
      first_turns_;  // of each tile of queries of each head, the first chain that sees it
  std::vector<std::atomic<std::int64_t>> turns_;  // the chain whose turn it is
};

template <typename Real>
class Backward {
 public:
  Backward(const ScoreTerms& terms, const PerOutput<Real*>& outputs)
      : terms_(terms),
        problem_(terms.problem),
        outputs_(outputs),
        rows_(shape_of(TensorId::lse, problem_).rows()),
        query_tiles_([&terms] { return make_query_tile<Real>(terms); }),
        key_tiles_([&terms] { return make_key_tile<Real>(terms); }),
        query_squares_(static_cast<std::size_t>(rows_)),
        key_squares_(static_cast<std::size_t>(shape_of(TensorId::dk, problem_).rows())) {}

  AttentionStatistics run(const Workers& workers) {
    const double products = terms_.has_bias ? 7.0 : 5.0;
    compute_d(workers);
    place_dq();
    Chains chains(terms_);
    std::vector<PairTally> tallies(static_cast<std::size_t>(chains.count()));
    parallel_for(
        chains.count(),
        [&](std::int64_t i) {
          try {
            tallies[static_cast<std::size_t>(i)] = run_chain(chains, chains.at(i));
          } catch (...) {
            chains.fail();
            throw;
          }
        },
        part_of(workers, 0.0, 5.0 / products));
    finish_dq(workers);
    if (terms_.has_bias) compute_dbias(part_of(workers, 5.0 / products, 1.0));

    AttentionStatistics statistics;
    const auto rows = static_cast<std::size_t>(rows_);
    const std::span<const Real> lse(outputs_.lse, rows);
    const std::span<const Real> d(outputs_.d, rows);
    if (problem_.sink) sink_gradient(terms_, lse, d, outputs_.dsink, statistics);
    PairTally tally;
    for (const PairTally& part : tallies) tally.add(part);
    describe(terms_, tally, all_pairs(), d, statistics);
    statistics.rows = norms_of(query_squares_);
    statistics.columns = norms_of(key_squares_);
    statistics.query_squares = std::move(query_squares_);
    statistics.key_squares = std::move(key_squares_);
    return statistics;
  }

 private:
  /// Tiles of queries whose dX a chain keeps while it waits for its turn.
  static constexpr std::size_t kMostKept = 2;

  double all_pairs() const {
    double pairs = 0.0;
    for (const Sequence& s : terms_.sequences) {
      pairs += static_cast<double>(s.seqlen_q) * static_cast<double>(s.seqlen_k);
    }
    return pairs * static_cast<double>(problem_.nhead_q);
  }

  KnownRows<Real> known() const { return {outputs_.lse, outputs_.d}; }

  /// body(first row, end) for some rows at a time.
  template <typename Body>
  void for_rows(const Workers& workers, const Body& body) {
    constexpr std::int64_t kChunk = 256;
    parallel_for(divided_up(rows_, kChunk),
                 [&](std::int64_t chunk) { body(chunk * kChunk, std::min(rows_, (chunk + 1) * kChunk)); },
                 {.threads = workers.threads});
  }

  void compute_d(const Workers& workers) {
    for_rows(workers, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t row = first; row < end; ++row) {
        const std::int64_t offset = row * problem_.hdim_v;
        outputs_.d[row] = dot(terms_.inputs.d_o.data() + offset, outputs_.o + offset, problem_.hdim_v);
      }
    });
  }

  /// dQ is summed up where it stands, or where rows are whole vectors and aligned if they are not there.
  void place_dq() {
    dq_ = {outputs_.dq, padded<Real>(problem_.hdim_q)};
    const auto count = static_cast<std::size_t>(rows_ * dq_.stride);
    const bool aligned = reinterpret_cast<std::uintptr_t>(dq_.data) % kVectorBytes == 0;
    if (!aligned || dq_.stride != problem_.hdim_q) {
      dq_memory_ = hwy::AllocateAligned<Real>(std::max<std::size_t>(count, 1));
      if (!dq_memory_) throw std::bad_alloc();
      dq_.data = dq_memory_.get();
    }
    std::fill_n(dq_.data, count, Real{0});
  }

  PairTally run_chain(Chains& chains, const Chain& chain) {
    const Mask& mask = terms_.mask_of(chain.sequence);
    const Rows keys =
        terms_.key_rows(chain.sequence, chain.head,
                        tile_positions(chain.tile * chains.keys(), mask.seqlen_k(), chains.keys()));
    const auto tile = key_tiles_.take();
    tile->start(keys);
    PairTally tally;
    std::deque<QueryTileAt> waiting;
    const auto add_dq = [&](std::size_t most_left) {
      while (!waiting.empty() && (waiting.size() > most_left || chains.is_turn(chain, waiting.front()))) {
        const QueryTileAt& at = waiting.front();
        if (!chains.await(chain, at)) return false;
        const std::int64_t row = query_rows(chain, at).row(0);
        tile->add_dq({dq_.data + row * dq_.stride, dq_.stride}, query_squares_.data() + row);
        chains.pass_on(chain, at);
        waiting.pop_front();
      }
      return true;
    };
    for (std::int64_t member = 0; member < problem_.group_size(); ++member) {
      for (std::int64_t i = chain.query_tiles.begin; i < chain.query_tiles.end; ++i) {
        const QueryTileAt at = {member, i};
        waiting.push_back(at);
        tally.add(tile->add(query_rows(chain, at), known()));
        if (!add_dq(kMostKept)) return tally;
      }
    }
    if (!add_dq(0)) return tally;
    Real* dk = outputs_.dk + keys.row(0) * problem_.hdim_q;
    Real* dv = outputs_.dv + keys.row(0) * problem_.hdim_v;
    tile->finish(dk, dv, key_squares_.data() + keys.row(0));
    scale_output(problem_, static_cast<Real>(problem_.scale), dk, keys.count() * problem_.hdim_q);
    round_output(problem_, dv, keys.count() * problem_.hdim_v);
    return tally;
  }

  Rows query_rows(const Chain& chain, const QueryTileAt& at) const {
    const std::int64_t head = chain.head * problem_.group_size() + at.member;
    const std::int64_t end = terms_.mask_of(chain.sequence).seqlen_q();
    return terms_.query_rows(chain.sequence, head, tile_positions(at.tile * kTile, end, kTile));
  }

  void finish_dq(const Workers& workers) {
    for_rows(workers, [&](std::int64_t first, std::int64_t end) {
      Real* dq = outputs_.dq + first * problem_.hdim_q;
      for (std::int64_t row = first; row < end && dq_memory_; ++row) {
        std::copy_n(dq_.data + row * dq_.stride, problem_.hdim_q, outputs_.dq + row * problem_.hdim_q);
      }
      scale_output(problem_, static_cast<Real>(problem_.scale), dq, (end - first) * problem_.hdim_q);
    });
    dq_memory_.reset();
  }

  /// A task owns a few rows of dBias, and sums them over the sequences and heads that share them.
  void compute_dbias(const Workers& workers) {
    const Shape bias = shape_of(TensorId::dbias, problem_);
    const Shape tasks = {bias.batch, bias.head, divided_up(bias.row, kOwnedQueries), 1};
    parallel_for(
        tasks.elements(), [&](std::int64_t task) { add_dbias(bias, tasks.index_of(task)); }, workers);
  }

  void add_dbias(const Shape& bias, const Shape& task) {
    const auto tile = query_tiles_.take();
    const std::int64_t first = task.row * kOwnedQueries;
    const std::int64_t end = std::min(first + kOwnedQueries, bias.row);
    Real* rows = outputs_.dbias + ((task.batch * bias.head + task.head) * bias.row + first) * bias.column;
    std::fill_n(rows, (end - first) * bias.column, Real{0});
    for_sharing(problem_, bias, task.batch, task.head, [&](std::int64_t sequence, std::int64_t head) {
      const std::int64_t there = std::min(end, terms_.mask_of(sequence).seqlen_q());
      if (first >= there) return;
      tile->add_dbias(terms_.query_rows(sequence, head, tile_positions(first, there, kOwnedQueries)), known(),
                      rows, bias.column);
    });
    round_output(problem_, rows, (end - first) * bias.column);
  }

  const ScoreTerms& terms_;
  const Problem& problem_;
  PerOutput<Real*> outputs_;
  std::int64_t rows_;  // of queries of all heads
  Pool<QueryTile<Real>> query_tiles_;
  Pool<KeyTile<Real>> key_tiles_;
  PaddedRows<Real> dq_ = {};  // not yet scaled
  hwy::AlignedFreeUniquePtr<Real[]> dq_memory_;
  std::vector<Squares> query_squares_;
  std::vector<Squares> key_squares_;
};

}  // namespace

template <typename Real>
void attention_forward(const ScoreTerms& terms, const Workers& workers, Real* o, Real* lse) {
  const Problem& problem = terms.problem;
  Pool<QueryTile<Real>> tiles([&terms] { return make_query_tile<Real>(terms); });
  const std::vector<Rows> tasks = all_query_tiles(terms);
  parallel_for(
      static_cast<std::int64_t>(tasks.size()),
      [&](std::int64_t task) {
        const Rows& queries = tasks[static_cast<std::size_t>(task)];
        Real* rows = o + queries.row(0) * problem.hdim_v;
        tiles.take()->forward(queries, rows, lse + queries.row(0));
        round_output(problem, rows, queries.count() * problem.hdim_v);
      },
      workers);
}

template <typename Real>
AttentionStatistics attention_backward(const ScoreTerms& terms, const Workers& workers,
                                       const PerOutput<Real*>& outputs) {
  return Backward<Real>(terms, outputs).run(workers);
}

template void attention_forward(const ScoreTerms&, const Workers&, double*, double*);
template void attention_forward(const ScoreTerms&, const Workers&, float*, float*);
template AttentionStatistics attention_backward(const ScoreTerms&, const Workers&, const PerOutput<double*>&);
template AttentionStatistics attention_backward(const ScoreTerms&, const Workers&, const PerOutput<float*>&);

}  // namespace fmha_bwd
