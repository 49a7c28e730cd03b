// From a tile of Q and one of K to their scores, probabilities and gradients: reference/attention.h has the
// formulas.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/dropout.h"
#include "base/mask_spec.h"
#include "base/problem.h"
#include "reference/tiles.h"

namespace fmha_bwd {

/// The element-wise product; `a` itself where `factor` has no elements.
template <typename Real>
Matrix<Real> times(Matrix<Real> a, const Matrix<Real>& factor) {
  for (std::size_t n = 0; n < factor.elements.size(); ++n) a.elements[n] *= factor.elements[n];
  return a;
}

/// All matrices are [queries, keys] of a tile.
template <typename Real>
struct ScoreTile {
  Matrix<Real> s;      // S, of the invisible pairs too
  Matrix<Real> size;   // the sum of what S is made of, each without its sign; no elements where |S| is
  Matrix<Real> slope;  // of the soft-cap, dS/dx; no elements where it is 1
  Matrix<Real> p;      // 0 where invisible
  Matrix<Real> keep;   // 0 where P is dropped, else 1 / (1 - probability); no elements without dropout
};

template <typename Real>
class Scores {
 public:
  Scores(const Problem& problem, const MaskSpec& mask, const AttentionInputs& inputs,
         const std::vector<Sequence>& sequences)
      : problem_(problem), inputs_(inputs), bias_(shape_of(TensorId::bias, problem)) {
    for (const Sequence& sequence : sequences) {
      masks_.emplace_back(mask.rule(), sequence.seqlen_q, sequence.seqlen_k);
    }
    draws_ = dropout_draws(problem);
  }

  const Mask& mask_of(std::int64_t sequence) const { return masks_[static_cast<std::size_t>(sequence)]; }

  /// The columns of a tile that its row i sees.
  Range visible_columns(const QueryTile<Real>& q, const KeyTile<Real>& k, std::int64_t i) const {
    const Range visible = mask_of(q.rows.sequence).visible_keys(q.query(i));
    const Range keys = k.rows.range;
    return {std::max(visible.begin, keys.begin) - keys.begin, std::min(visible.end, keys.end) - keys.begin};
  }

  /// S, and the slope of the soft-cap and the sizes where there are any.
  ScoreTile<Real> scores(const QueryTile<Real>& q, const KeyTile<Real>& k) const {
    ScoreTile<Real> tile;
    tile.s = Matrix<Real>(q.rows.range.size(), k.rows.range.size());
    multiply_add(q.q, k.k_transposed, tile.s);
    const auto scale = static_cast<Real>(problem_.scale);
    for (Real& score : tile.s.elements) score *= scale;
    if (problem_.softcap > 0.0F || problem_.bias != BiasShape::none || problem_.alibi) {
      tile.size = tile.s;
      for (Real& size : tile.size.elements) size = std::abs(size);
    }
    if (problem_.softcap > 0.0F) cap(tile);
    if (problem_.bias != BiasShape::none) add_bias(q, k, tile);
    if (problem_.alibi) add_alibi(q, k, tile);
    return tile;
  }

  /// All of the tile, P from q.lse.
  ScoreTile<Real> probabilities(const QueryTile<Real>& q, const KeyTile<Real>& k) const {
    ScoreTile<Real> tile = scores(q, k);
    tile.p = Matrix<Real>(tile.s.rows, tile.s.columns);
    for (std::int64_t i = 0; i < tile.p.rows; ++i) {
      const Range columns = visible_columns(q, k, i);
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        tile.p.row(i)[j] = std::exp(tile.s.row(i)[j] - q.lse[i]);
      }
    }
    if (problem_.dropout.probability > 0.0F) tile.keep = kept(q, k);
    return tile;
  }

  /// dS = P * (dP - D) of a tile.
  Matrix<Real> gradients(const QueryTile<Real>& q, const KeyTile<Real>& k,
                         const ScoreTile<Real>& tile) const {
    Matrix<Real> ds(tile.p.rows, tile.p.columns);
    multiply_add(q.d_o, k.v_transposed, ds);
    ds = times(std::move(ds), tile.keep);
    for (std::int64_t i = 0; i < ds.rows; ++i) {
      for (std::int64_t j = 0; j < ds.columns; ++j) {
        ds.row(i)[j] = tile.p.row(i)[j] * (ds.row(i)[j] - q.d[i]);
      }
    }
    return ds;
  }

  /// Elements from the start of the bias, or of dBias, to that of this pair.
  std::int64_t bias_offset(const Rows& queries, std::int64_t query, std::int64_t key) const {
    const std::int64_t batch = bias_.batch == 1 ? 0 : queries.sequence;
    const std::int64_t head = bias_.head == 1 ? 0 : queries.head;
    return ((batch * bias_.head + head) * bias_.row + query) * bias_.column + key;
  }

 private:
  void cap(ScoreTile<Real>& tile) const {
    const auto limit = static_cast<Real>(problem_.softcap);
    tile.slope = Matrix<Real>(tile.s.rows, tile.s.columns);
    for (std::size_t n = 0; n < tile.s.elements.size(); ++n) {
      const Real share = std::tanh(tile.s.elements[n] / limit);
      tile.s.elements[n] = limit * share;
      tile.slope.elements[n] = Real{1} - share * share;
      tile.size.elements[n] += std::abs(limit * share);
    }
  }

  void add(Real term, std::int64_t i, std::int64_t j, ScoreTile<Real>& tile) const {
    tile.s.row(i)[j] += term;
    tile.size.row(i)[j] += std::abs(term);
  }

  void add_bias(const QueryTile<Real>& q, const KeyTile<Real>& k, ScoreTile<Real>& tile) const {
    for (std::int64_t i = 0; i < tile.s.rows; ++i) {
      const std::int64_t first = bias_offset(q.rows, q.query(i), k.key(0));
      for (std::int64_t j = 0; j < tile.s.columns; ++j) {
        add(static_cast<Real>(inputs_.bias[static_cast<std::size_t>(first + j)]), i, j, tile);
      }
    }
  }

  void add_alibi(const QueryTile<Real>& q, const KeyTile<Real>& k, ScoreTile<Real>& tile) const {
    const auto slope = static_cast<Real>(inputs_.slopes[static_cast<std::size_t>(q.rows.head)]);
    const std::int64_t diagonal = mask_of(q.rows.sequence).diagonal();
    for (std::int64_t i = 0; i < tile.s.rows; ++i) {
      for (std::int64_t j = 0; j < tile.s.columns; ++j) {
        const std::int64_t distance = std::abs(q.query(i) + diagonal - k.key(j));
        add(-slope * static_cast<Real>(distance), i, j, tile);
      }
    }
  }

  Matrix<Real> kept(const QueryTile<Real>& q, const KeyTile<Real>& k) const {
    const std::int64_t head = q.rows.sequence * problem_.nhead_q + q.rows.head;
    Matrix<Real> keep(q.rows.range.size(), k.rows.range.size());
    for (std::int64_t i = 0; i < keep.rows; ++i) {
      PhiloxWords words{};
      for (std::int64_t j = 0; j < keep.columns; ++j) {
        const std::int64_t key = k.key(j);
        if (j == 0 || key % 4 == 0) words = draws_.quad(head, q.query(i), key / 4);
        const bool keeps = draws_.keeps(words[static_cast<std::size_t>(key % 4)]);
        keep.row(i)[j] = keeps ? static_cast<Real>(draws_.keep_scale) : Real{0};
      }
    }
    return keep;
  }

  const Problem& problem_;
  const AttentionInputs& inputs_;
  std::vector<Mask> masks_;  // of each sequence
  Shape bias_;
  DropoutDraws draws_;
};

}  // namespace fmha_bwd
