// What all tiles of one computation share: the problem, and what makes its scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/dropout.h"
#include "base/mask.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "base/sequences.h"
#include "base/tensor.h"
#include "reference/inputs.h"

namespace fmha_bwd {

inline constexpr std::int64_t kTile = 128;          // rows that pass by at a time
inline constexpr std::int64_t kOwnedQueries = 128;  // of a QueryTile
inline constexpr std::int64_t kOwnedKeys = 128;     // of a KeyTile

/// Some rows of one head of one sequence, a tile of them at most.
struct Rows {
  std::int64_t sequence = 0;
  std::int64_t head = 0;                  // a query head or a key head
  std::int64_t first_row = 0;             // of the head's sequence, among the rows of all heads
  std::vector<std::int64_t> positions{};  // counted from that row, ascending

  std::int64_t count() const { return static_cast<std::int64_t>(positions.size()); }
  std::int64_t row(std::int64_t i) const { return first_row + positions[static_cast<std::size_t>(i)]; }
};

/// The inputs where they are in memory, in the shapes of base/tensor.h.
struct InputViews {
  InputViews() = default;
  explicit InputViews(const AttentionInputs& inputs)
      : q(inputs.q),
        k(inputs.k),
        v(inputs.v),
        d_o(inputs.d_o),
        bias(inputs.bias),
        slopes(inputs.slopes),
        sink(inputs.sink) {}

  std::span<const float> q, k, v, d_o, bias, slopes, sink;
};

struct ScoreTerms {
  /// Keeps references to problem, mask and inputs.
  ScoreTerms(const Problem& a_problem, const MaskSpec& mask, const InputViews& some_inputs)
      : problem(a_problem),
        inputs(some_inputs),
        sequences(sequences_of(a_problem)),
        bias(shape_of(TensorId::bias, a_problem)),
        draws(dropout_draws(a_problem)),
        drops(a_problem.dropout.probability > 0.0F),
        has_bias(a_problem.bias != BiasShape::none) {
    for (const Sequence& s : sequences) masks.emplace_back(mask.rule(), s.seqlen_q, s.seqlen_k);
  }

  const Mask& mask_of(std::int64_t sequence) const { return masks[static_cast<std::size_t>(sequence)]; }

  /// Whether scores are scale Q K^T and nothing else.
  bool plain() const { return !drops && !has_bias && !problem.alibi && !(problem.softcap > 0.0F); }

  Rows query_rows(std::int64_t sequence, std::int64_t head, std::vector<std::int64_t> positions) const {
    const Sequence& s = sequences[static_cast<std::size_t>(sequence)];
    const std::int64_t rows = shape_of(TensorId::q, problem).row;
    return {sequence, head, (s.batch * problem.nhead_q + head) * rows + s.first_q, std::move(positions)};
  }
  Rows key_rows(std::int64_t sequence, std::int64_t head, std::vector<std::int64_t> positions) const {
    const Sequence& s = sequences[static_cast<std::size_t>(sequence)];
    const std::int64_t rows = shape_of(TensorId::k, problem).row;
    return {sequence, head, (s.batch * problem.nhead_k + head) * rows + s.first_k, std::move(positions)};
  }

  /// Elements from the start of the bias, or of dBias, to that of this pair.
  std::int64_t bias_offset(std::int64_t sequence, std::int64_t head, std::int64_t query,
                           std::int64_t key) const {
    const std::int64_t batch = bias.batch == 1 ? 0 : sequence;
    const std::int64_t row = (batch * bias.head + (bias.head == 1 ? 0 : head)) * bias.row + query;
    return row * bias.column + key;
  }

  const Problem& problem;
  InputViews inputs;
  std::vector<Sequence> sequences;
  std::vector<Mask> masks;  // of each sequence
  Shape bias;
  DropoutDraws draws;
  bool drops;
  bool has_bias;
};

/// visit(sequence, query head) for each that shares the bias of this batch index and head of a bias of that
/// shape.
template <typename Visit>
void for_sharing(const Problem& problem, const Shape& bias, std::int64_t batch, std::int64_t head,
                 const Visit& visit) {
  const Range batches = bias.batch == 1 ? Range{0, problem.batch} : Range{batch, batch + 1};
  const Range heads = bias.head == 1 ? Range{0, problem.nhead_q} : Range{head, head + 1};
  for (std::int64_t b = batches.begin; b < batches.end; ++b) {
    for (std::int64_t h = heads.begin; h < heads.end; ++h) visit(b, h);
  }
}

/// The rows [begin, end), at most `size` of them.
inline std::vector<std::int64_t> tile_positions(std::int64_t begin, std::int64_t end, std::int64_t size) {
  std::vector<std::int64_t> positions;
  for (std::int64_t row = begin; row < std::min(begin + size, end); ++row) positions.push_back(row);
  return positions;
}

}  // namespace fmha_bwd
