// Which rows of its tensors a very long problem is verified on.
//
// Each row is in the first of these classes that fits:
//
//     edge      of the first or the last tile of a sequence and head, or at an edge of the mask: where the
//               range that a query sees, or that a key is seen by, begins or ceases to be empty or changes
//               the pace of one of its ends, and the rows beside
//     boundary  the first or the last row of a tile
//     inner     all others
//
// Of a sample, up to a quarter is from the edges, up to a half from the boundaries and the rest from the
// inner rows. What a class does not need goes to the boundaries, what these do not need to the inner rows,
// and then to the edges: a fault at a boundary is then seen for certain as early as can be. The rows of a
// class are drawn uniformly, without replacement, from Philox streams of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/result.h"

namespace fmha_bwd {

inline constexpr std::int64_t kSampleTile = 64;  // rows, counted within the sequence

/// Some rows of tensors [batch, head, row, ..], numbered in that order.
struct RowSample {
  std::vector<std::int64_t> rows;  // ascending
  std::vector<RowClass> classes;   // edge, boundary, inner; none where there is no such tensor
};

struct Sample {
  RowSample queries;  // rows of dQ, O, LSE and D
  RowSample keys;     // rows of dK and dV
  RowSample bias;     // rows of dBias; empty without a bias
};

/// At most `rows` rows of each, and all where there are no more. A seed gives the same rows everywhere. In
/// group mode a row of dBias is at an edge where it is in one of the sequences that share it; beyond the end
/// of a sequence it is like a query that sees no key.
Sample choose_sample(const Problem& problem, const MaskSpec& mask, std::int64_t rows, std::uint64_t seed);

/// The chance that none of the faulty rows is in the sample where this share of all rows is (at least one
/// row), wherever they are: of all ways to place them, the one that is most easily missed.
double chance_missed(const RowSample& sample, double share);

/// The same of a fault in one row of a class: 1 - sampled / rows; 0 where there are none.
double chance_missed_one(const RowClass& rows);

/// What the reports say of a sample. Boundaries among the edge rows count with those.
SampledRows sampled_rows(const Sample& sample);

}  // namespace fmha_bwd
