#include "reference/full_attention.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "base/divided_up.h"
#include "reference/arithmetic.h"
#include "reference/pool.h"
#include "reference/simd/tiles.h"
#include "reference/statistics.h"

namespace fmha_bwd {
namespace {

std::size_t elements(TensorId id, const Problem& problem) {
  return has_tensor(problem, id) ? static_cast<std::size_t>(shape_of(id, problem).elements()) : 0;
}

/// Every tile of queries, those that see most first.
std::vector<Rows> all_query_tiles(const ScoreTerms& terms) {
  std::vector<Rows> tiles;
  for (std::size_t s = 0; s < terms.sequences.size(); ++s) {
    const std::int64_t length = terms.sequences[s].seqlen_q;
    for (std::int64_t head = 0; head < terms.problem.nhead_q; ++head) {
      for (std::int64_t first = 0; first < length; first += kOwnedQueries) {
        tiles.push_back(terms.query_rows(static_cast<std::int64_t>(s), head,
                                         tile_positions(first, length, kOwnedQueries)));
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

/// The chains in the order in which they are started: the first tile of keys of every head, then the second
/// of every head, and so on. A chain waits for the one before it in its head alone, which has been started by
/// then: so the wait always ends, and at each tile of queries they take turns in their order.
class Chains {
 public:
  explicit Chains(const ScoreTerms& terms) {
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
  const Chain& at(std::int64_t index) const { return all_[static_cast<std::size_t>(index)]; }

  /// Waits until `chain` may add to dQ of that tile of queries of that member of its group; false where
  /// another chain has failed.
  bool await(const Chain& chain, std::int64_t member, std::int64_t query_tile) {
    std::atomic<std::int64_t>& turn = turn_of(chain, member, query_tile);
    for (std::int64_t now = turn.load(); now != chain.tile; now = turn.load()) {
      if (now == kFailed) return false;
      turn.wait(now);
    }
    return true;
  }
  /// Gives the turn to the next chain.
  void pass_on(const Chain& chain, std::int64_t member, std::int64_t query_tile) {
    std::atomic<std::int64_t>& turn = turn_of(chain, member, query_tile);
    turn.store(chain.tile + 1);
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
    for (std::int64_t tile = 0; tile * kOwnedKeys < mask.seqlen_k(); ++tile) {
      const Range queries =
          mask.queries_of({tile * kOwnedKeys, std::min((tile + 1) * kOwnedKeys, mask.seqlen_k())});
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

  std::atomic<std::int64_t>& turn_of(const Chain& chain, std::int64_t member, std::int64_t query_tile) {
    return turns_[static_cast<std::size_t>(chain.turns + member * chain.tiles_q + query_tile)];
  }

  std::vector<Chain> all_;
  std::vector<std::int64_t>
      first_turns_;  // of each tile of queries of each head, the first chain that sees it
  std::vector<std::atomic<std::int64_t>> turns_;  // the chain whose turn it is
};

template <typename Real>
class Backward {
 public:
  Backward(const ScoreTerms& terms, Attention<Real>& result)
      : terms_(terms),
        problem_(terms.problem),
        result_(result),
        query_tiles_([&terms] { return make_query_tile<Real>(terms); }),
        key_tiles_([&terms] { return make_key_tile<Real>(terms); }),
        dq_stride_(padded<Real>(problem_.hdim_q)) {}

  void run(const Workers& workers) {
    const double products = terms_.has_bias ? 7.0 : 5.0;
    compute_d(workers);
    allocate_dq();
    query_squares_.resize(result_.lse.size());
    key_squares_.resize(elements(TensorId::dk, problem_) / static_cast<std::size_t>(problem_.hdim_q));
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
    result_.dbias.assign(elements(TensorId::dbias, problem_), Real{0});
    if (terms_.has_bias) compute_dbias(part_of(workers, 5.0 / products, 1.0));
    result_.dsink = sink_gradient<Real>(terms_, result_.lse, result_.d, result_.statistics);

    PairTally tally;
    for (const PairTally& part : tallies) tally.add(part);
    describe(terms_, tally, all_pairs(), result_.d, result_.statistics);
    result_.statistics.rows = norms_of(query_squares_);
    result_.statistics.columns = norms_of(key_squares_);
  }

 private:
  double all_pairs() const {
    double pairs = 0.0;
    for (const Sequence& s : terms_.sequences) {
      pairs += static_cast<double>(s.seqlen_q) * static_cast<double>(s.seqlen_k);
    }
    return pairs * static_cast<double>(problem_.nhead_q);
  }

  KnownRows<Real> known() const { return {result_.lse.data(), result_.d.data()}; }

  /// body(first row, end) for some rows at a time.
  template <typename Body>
  void for_rows(const Workers& workers, const Body& body) {
    constexpr std::int64_t kChunk = 256;
    const auto rows = static_cast<std::int64_t>(result_.lse.size());
    parallel_for(divided_up(rows, kChunk),
                 [&](std::int64_t chunk) { body(chunk * kChunk, std::min(rows, (chunk + 1) * kChunk)); },
                 {.threads = workers.threads});
  }

  void compute_d(const Workers& workers) {
    result_.d.resize(result_.lse.size());
    for_rows(workers, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t row = first; row < end; ++row) {
        const std::int64_t offset = row * problem_.hdim_v;
        result_.d[static_cast<std::size_t>(row)] =
            dot(terms_.inputs.d_o.data() + offset, result_.o.data() + offset, problem_.hdim_v);
      }
    });
  }

  void allocate_dq() {
    const std::size_t count = result_.lse.size() * static_cast<std::size_t>(dq_stride_);
    dq_ = hwy::AllocateAligned<Real>(std::max<std::size_t>(count, 1));
    if (!dq_) throw std::bad_alloc();
    std::fill_n(dq_.get(), count, Real{0});
    result_.dk.resize(elements(TensorId::dk, problem_));
    result_.dv.resize(elements(TensorId::dv, problem_));
  }

  PairTally run_chain(Chains& chains, const Chain& chain) {
    const Mask& mask = terms_.mask_of(chain.sequence);
    const Rows keys = terms_.key_rows(chain.sequence, chain.head,
                                      tile_positions(chain.tile * kOwnedKeys, mask.seqlen_k(), kOwnedKeys));
    const auto tile = key_tiles_.take();
    tile->start(keys);
    PairTally tally;
    for (std::int64_t member = 0; member < problem_.group_size(); ++member) {
      const std::int64_t head = chain.head * problem_.group_size() + member;
      for (std::int64_t i = chain.query_tiles.begin; i < chain.query_tiles.end; ++i) {
        const Rows queries =
            terms_.query_rows(chain.sequence, head, tile_positions(i * kTile, mask.seqlen_q(), kTile));
        tally.add(tile->add(queries, known()));
        if (!chains.await(chain, member, i)) return tally;
        tile->add_dq({dq_.get() + queries.row(0) * dq_stride_, dq_stride_},
                     query_squares_.data() + queries.row(0));
        chains.pass_on(chain, member, i);
      }
    }
    Real* dk = result_.dk.data() + keys.row(0) * problem_.hdim_q;
    Real* dv = result_.dv.data() + keys.row(0) * problem_.hdim_v;
    tile->finish(dk, dv, key_squares_.data() + keys.row(0));
    scale_output(problem_, static_cast<Real>(problem_.scale), dk, keys.count() * problem_.hdim_q);
    round_output(problem_, dv, keys.count() * problem_.hdim_v);
    return tally;
  }

  void finish_dq(const Workers& workers) {
    result_.dq.resize(elements(TensorId::dq, problem_));
    for_rows(workers, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t row = first; row < end; ++row) {
        std::copy_n(dq_.get() + row * dq_stride_, problem_.hdim_q, result_.dq.data() + row * problem_.hdim_q);
      }
      scale_output(problem_, static_cast<Real>(problem_.scale), result_.dq.data() + first * problem_.hdim_q,
                   (end - first) * problem_.hdim_q);
    });
    dq_.reset();
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
    Real* rows =
        result_.dbias.data() + ((task.batch * bias.head + task.head) * bias.row + first) * bias.column;
    const Range batches = bias.batch == 1 ? Range{0, problem_.batch} : Range{task.batch, task.batch + 1};
    const Range heads = bias.head == 1 ? Range{0, problem_.nhead_q} : Range{task.head, task.head + 1};
    for (std::int64_t b = batches.begin; b < batches.end; ++b) {
      const std::int64_t there = std::min(end, terms_.mask_of(b).seqlen_q());
      for (std::int64_t h = heads.begin; h < heads.end && first < there; ++h) {
        tile->add_dbias(terms_.query_rows(b, h, tile_positions(first, there, kOwnedQueries)), known(), rows,
                        bias.column);
      }
    }
    round_output(problem_, rows, (end - first) * bias.column);
  }

  const ScoreTerms& terms_;
  const Problem& problem_;
  Attention<Real>& result_;
  Pool<QueryTile<Real>> query_tiles_;
  Pool<KeyTile<Real>> key_tiles_;
  std::int64_t dq_stride_;
  hwy::AlignedFreeUniquePtr<Real[]> dq_;  // not yet scaled, [rows of all heads, dq_stride]
  std::vector<Squares> query_squares_;
  std::vector<Squares> key_squares_;
};

}  // namespace

template <typename Real>
void attention_forward(const ScoreTerms& terms, const Workers& workers, Attention<Real>& result) {
  const Problem& problem = terms.problem;
  result.o.resize(elements(TensorId::o, problem));
  result.lse.resize(elements(TensorId::lse, problem));
  Pool<QueryTile<Real>> tiles([&terms] { return make_query_tile<Real>(terms); });
  const std::vector<Rows> tasks = all_query_tiles(terms);
  parallel_for(
      static_cast<std::int64_t>(tasks.size()),
      [&](std::int64_t task) {
        const Rows& queries = tasks[static_cast<std::size_t>(task)];
        Real* o = result.o.data() + queries.row(0) * problem.hdim_v;
        tiles.take()->forward(queries, o, result.lse.data() + queries.row(0));
        round_output(problem, o, queries.count() * problem.hdim_v);
      },
      workers);
}

template <typename Real>
void attention_backward(const ScoreTerms& terms, const Workers& workers, Attention<Real>& result) {
  Backward<Real>(terms, result).run(workers);
}

template void attention_forward(const ScoreTerms&, const Workers&, Attention<double>&);
template void attention_forward(const ScoreTerms&, const Workers&, Attention<float>&);
template void attention_backward(const ScoreTerms&, const Workers&, Attention<double>&);
template void attention_backward(const ScoreTerms&, const Workers&, Attention<float>&);

}  // namespace fmha_bwd
