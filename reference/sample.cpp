#include "reference/sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "base/random.h"
#include "base/sequences.h"
#include "base/tensor.h"

namespace fmha_bwd {
namespace {

enum class RowKind : std::uint8_t { edge, boundary, inner };  // the first that fits

constexpr std::size_t kKinds = 3;
constexpr std::array<std::string_view, kKinds> kNames = {"edge", "boundary", "inner"};
constexpr std::array<RowKind, kKinds> kHeirs = {RowKind::boundary, RowKind::inner, RowKind::edge};

using OfKind = std::array<std::int64_t, kKinds>;  // a number for each kind

std::size_t index(RowKind kind) { return static_cast<std::size_t>(kind); }

enum class Side { queries, keys, bias };

constexpr std::uint64_t kFirstStream = 128;  // after those of the inputs, base/fill.h
constexpr double kNegligible = 1e-300;

/// The rows first + copy * stride + i, for every i in [0, kinds.size()) and copy in [0, copies).
struct Pattern {
  std::vector<RowKind> kinds;
  std::int64_t copies = 0;
  std::int64_t first = 0;
  std::int64_t stride = 0;
};

/// How a range changes from one row to the next.
struct Step {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool emptiness = false;

  bool operator==(const Step&) const = default;
};

Step step(const Range& from, const Range& to) {
  if (from.empty() && to.empty()) return {};
  return {to.begin - from.begin, to.end - from.end, from.empty() != to.empty()};
}

/// Of `rows` rows, of which the first `length` are the sequence's; the range of row i is visible(i).
template <class Visible>
std::vector<RowKind> kinds_of(std::int64_t rows, std::int64_t length, const Visible& visible) {
  std::vector<RowKind> kinds(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t in_tile = row % kSampleTile;
    const std::int64_t tile = row / kSampleTile;
    RowKind& kind = kinds[static_cast<std::size_t>(row)];
    kind = in_tile == 0 || in_tile == kSampleTile - 1 ? RowKind::boundary : RowKind::inner;
    if (row < length && (tile == 0 || tile == (length - 1) / kSampleTile)) kind = RowKind::edge;
  }
  const auto range = [&](std::int64_t row) { return row < length ? visible(row) : Range{}; };
  if (rows < 3) return kinds;
  Range here = range(1);
  Step before = step(range(0), here);
  for (std::int64_t row = 1; row + 1 < rows; ++row) {
    const Range next = range(row + 1);
    const Step after = step(here, next);
    if (before != after) std::fill_n(kinds.begin() + row - 1, 3, RowKind::edge);
    here = next;
    before = after;
  }
  return kinds;
}

/// A sequence's queries, or its rows of the bias, of which some may be beyond its end.
std::vector<RowKind> kinds_of_queries(const MaskRule& rule, const Sequence& sequence, std::int64_t rows) {
  const Mask mask(rule, sequence.seqlen_q, sequence.seqlen_k);
  return kinds_of(rows, sequence.seqlen_q, [&](std::int64_t row) { return mask.visible_keys(row); });
}

std::vector<RowKind> kinds_of_keys(const MaskRule& rule, const Sequence& sequence) {
  const Mask mask(rule, sequence.seqlen_q, sequence.seqlen_k);
  return kinds_of(sequence.seqlen_k, sequence.seqlen_k,
                  [&](std::int64_t row) { return mask.visible_queries(row); });
}

/// Those that differ: in batch mode one stands for all.
std::vector<Sequence> different_sequences(const Problem& problem) {
  std::vector<Sequence> sequences = sequences_of(problem);
  if (!problem.grouped()) sequences.resize(1);
  return sequences;
}

/// Every index of a tensor's first two dimensions has the rows of all the sequences that differ.
template <class Kinds>
std::vector<Pattern> repeated(const Shape& shape, const Problem& problem, const Kinds& kinds) {
  Pattern pattern{{}, shape.batch * shape.head, 0, shape.row};
  for (const Sequence& sequence : different_sequences(problem)) {
    const std::vector<RowKind> more = kinds(sequence);
    pattern.kinds.insert(pattern.kinds.end(), more.begin(), more.end());
  }
  return {std::move(pattern)};
}

std::vector<Pattern> patterns_of_bias(const Problem& problem, const MaskRule& rule) {
  const Shape shape = shape_of(TensorId::dbias, problem);
  std::vector<Pattern> patterns;
  for (const Sequence& sequence : different_sequences(problem)) {
    std::vector<RowKind> kinds = kinds_of_queries(rule, sequence, shape.row);
    const auto number = static_cast<std::int64_t>(patterns.size());
    if (problem.grouped() && shape.batch > 1) {
      patterns.push_back({std::move(kinds), shape.head, number * shape.head * shape.row, shape.row});
    } else if (patterns.empty()) {
      patterns.push_back({std::move(kinds), shape.batch * shape.head, 0, shape.row});
    } else {
      std::vector<RowKind>& shared = patterns.front().kinds;
      std::transform(shared.begin(), shared.end(), kinds.begin(), shared.begin(),
                     [](RowKind a, RowKind b) { return std::min(a, b); });
    }
  }
  return patterns;
}

OfKind rows_of(const std::vector<Pattern>& patterns) {
  OfKind rows = {};
  for (const Pattern& pattern : patterns) {
    for (const RowKind kind : pattern.kinds) rows[index(kind)] += pattern.copies;
  }
  return rows;
}

/// How many rows to take where there are so many.
OfKind shares_of(const OfKind& rows, std::int64_t wanted) {
  std::int64_t left = std::min(wanted, std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  OfKind shares = {left / 4, left / 2, left - left / 4 - left / 2};
  for (std::size_t i = 0; i < kKinds; ++i) {
    shares[i] = std::min(shares[i], rows[i]);
    left -= shares[i];
  }
  for (const RowKind heir : kHeirs) {
    const std::int64_t more = std::min(left, rows[index(heir)] - shares[index(heir)]);
    shares[index(heir)] += more;
    left -= more;
  }
  return shares;
}

/// Whole numbers below a bound, each as likely as the others.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::int64_t below(std::int64_t bound) {
    const auto n = static_cast<std::uint64_t>(bound);
    const std::uint64_t last = std::numeric_limits<std::uint64_t>::max() - (0 - n) % n;  // of whole cycles
    for (;;) {
      const PhiloxWords words = philox_quad(seed_, stream_, position_++);
      const std::uint64_t drawn = std::uint64_t{words[1]} << 32 | words[0];
      if (drawn <= last) return static_cast<std::int64_t>(drawn % n);
    }
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_ = 0;
};

/// `wanted` of the numbers below `count`, ascending; every set of them is equally likely (R. Floyd, in
/// J. Bentley, "Programming pearls: a sample of brilliance", CACM 30 (1987)).
std::vector<std::int64_t> numbers_below(std::int64_t count, std::int64_t wanted, Draws draws) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(wanted));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  if (wanted == count) return numbers;
  std::unordered_set<std::int64_t> taken;
  taken.reserve(numbers.size());
  for (std::int64_t last = count - wanted; last < count; ++last) {
    if (!taken.insert(draws.below(last + 1)).second) taken.insert(last);
  }
  numbers.assign(taken.begin(), taken.end());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Appends the rows of a kind that have these numbers among those of the kind, ascending.
void append(const std::vector<Pattern>& patterns, RowKind kind, const std::vector<std::int64_t>& numbers,
            std::vector<std::int64_t>& rows) {
  auto number = numbers.begin();
  std::int64_t before = 0;  // rows of the kind in the patterns before
  for (const Pattern& pattern : patterns) {
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < pattern.kinds.size(); ++i) {
      if (pattern.kinds[i] == kind) places.push_back(static_cast<std::int64_t>(i));
    }
    const auto of_copy = static_cast<std::int64_t>(places.size());
    const std::int64_t end = before + of_copy * pattern.copies;
    for (; number != numbers.end() && *number < end; ++number) {
      const std::int64_t copy = (*number - before) / of_copy;
      const std::int64_t place = places[static_cast<std::size_t>((*number - before) % of_copy)];
      rows.push_back(pattern.first + copy * pattern.stride + place);
    }
    before = end;
  }
}

RowSample drawn(const std::vector<Pattern>& patterns, std::int64_t wanted, std::uint64_t seed, Side side) {
  const OfKind rows = rows_of(patterns);
  const OfKind shares = shares_of(rows, wanted);
  RowSample sample;
  for (std::size_t i = 0; i < kKinds; ++i) {
    sample.classes.push_back({kNames[i], rows[i], shares[i]});
    const Draws draws(seed, kFirstStream + static_cast<std::uint64_t>(side) * kKinds + i);
    append(patterns, static_cast<RowKind>(i), numbers_below(rows[i], shares[i], draws), sample.rows);
  }
  std::sort(sample.rows.begin(), sample.rows.end());
  return sample;
}

SampledSide sampled_side(const RowSample& sample) {
  const auto of = [&](RowKind kind) { return chance_missed_one(sample.classes[index(kind)]); };
  return {sample.classes, std::max(of(RowKind::edge), of(RowKind::boundary)),
          chance_missed(sample, kFaultShare)};
}

}  // namespace

Sample choose_sample(const Problem& problem, const MaskSpec& mask, std::int64_t rows, std::uint64_t seed) {
  const MaskRule rule = mask.rule();
  const std::vector<Pattern> queries =
      repeated(shape_of(TensorId::lse, problem), problem,
               [&](const Sequence& s) { return kinds_of_queries(rule, s, s.seqlen_q); });
  const std::vector<Pattern> keys = repeated(shape_of(TensorId::dk, problem), problem,
                                             [&](const Sequence& s) { return kinds_of_keys(rule, s); });
  Sample sample;
  sample.queries = drawn(queries, rows, seed, Side::queries);
  sample.keys = drawn(keys, rows, seed, Side::keys);
  if (problem.bias != BiasShape::none) {
    sample.bias = drawn(patterns_of_bias(problem, rule), rows, seed, Side::bias);
  }
  return sample;
}

double chance_missed(const RowSample& sample, double share) {
  struct Rest {
    std::int64_t rows;
    std::int64_t unseen;

    /// The chance that one more faulty row is missed; it falls with every one.
    double missed() const {
      return unseen == 0 ? 0.0 : static_cast<double>(unseen) / static_cast<double>(rows);
    }
  };
  std::vector<Rest> classes;
  Rest all{0, 0};
  for (const RowClass& rows : sample.classes) {
    classes.push_back({rows.rows, rows.rows - rows.sampled});
    all = {all.rows + classes.back().rows, all.unseen + classes.back().unseen};
  }
  // 0.07 of 100 rows are 7, although the product is above.
  const double exactly = share * static_cast<double>(all.rows) * (1.0 - 1e-12);
  std::int64_t faulty = std::max(std::int64_t{1}, static_cast<std::int64_t>(std::ceil(exactly)));
  if (faulty > all.unseen) return 0.0;
  double chance = 1.0;
  for (; faulty > 0 && chance > kNegligible; --faulty) {
    const auto worst = std::max_element(classes.begin(), classes.end(),
                                        [](const Rest& a, const Rest& b) { return a.missed() < b.missed(); });
    chance *= worst->missed();
    --worst->rows;
    --worst->unseen;
  }
  return chance;
}

double chance_missed_one(const RowClass& rows) {
  if (rows.rows == 0) return 0.0;
  return static_cast<double>(rows.rows - rows.sampled) / static_cast<double>(rows.rows);
}

SampledRows sampled_rows(const Sample& sample) {
  SampledRows result{sampled_side(sample.queries), sampled_side(sample.keys), std::nullopt};
  if (!sample.bias.classes.empty()) result.bias = sampled_side(sample.bias);
  return result;
}

}  // namespace fmha_bwd
