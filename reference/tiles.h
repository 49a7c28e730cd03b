// The tiles that the reference goes over the scores in: a few rows of Q and dO, or of K and V.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/mask.h"
#include "base/sequences.h"
#include "base/tensor.h"
#include "reference/inputs.h"
#include "reference/matrix.h"

namespace fmha_bwd {

inline constexpr std::int64_t kTile = 64;  // queries and keys of a tile

inline Range tile_at(std::int64_t begin, std::int64_t end) { return {begin, std::min(begin + kTile, end)}; }

/// Consecutive rows of one head of one sequence.
struct Rows {
  std::int64_t sequence;
  std::int64_t head;  // a query head or a key head
  Range range;        // counted from the sequence's first row
};

/// Consecutive queries of one head, with what is known of them so far.
template <typename Real>
struct QueryTile {
  Rows rows;
  std::int64_t first_row;  // of the tile, among the rows of all heads
  Matrix<Real> q;          // [queries, hdim_q]
  Matrix<Real> d_o;        // [queries, hdim_v]
  std::vector<Real> lse;
  std::vector<Real> d;

  std::int64_t query(std::int64_t i) const { return rows.range.begin + i; }
};

/// Consecutive keys of one head.
template <typename Real>
struct KeyTile {
  Rows rows;
  std::int64_t first_row;
  Matrix<Real> k;             // [keys, hdim_q]
  Matrix<Real> k_transposed;  // [hdim_q, keys]
  Matrix<Real> v;             // [keys, hdim_v]
  Matrix<Real> v_transposed;  // [hdim_v, keys]

  std::int64_t key(std::int64_t j) const { return rows.range.begin + j; }
};

/// Cuts the inputs of a problem into tiles.
template <typename Real>
class Tiles {
 public:
  Tiles(const Problem& problem, const AttentionInputs& inputs)
      : problem_(problem),
        inputs_(inputs),
        sequences_(sequences_of(problem)),
        rows_q_(shape_of(TensorId::q, problem).row),
        rows_k_(shape_of(TensorId::k, problem).row) {}

  const std::vector<Sequence>& sequences() const { return sequences_; }

  /// Every tile of queries, and every tile of keys, each once.
  std::vector<Rows> query_rows() const { return all_rows(problem_.nhead_q, &Sequence::seqlen_q); }
  std::vector<Rows> key_rows() const { return all_rows(problem_.nhead_k, &Sequence::seqlen_k); }

  /// LSE and D are zero.
  QueryTile<Real> queries(const Rows& rows) const {
    const Sequence& sequence = sequences_[static_cast<std::size_t>(rows.sequence)];
    const std::int64_t first_row =
        (sequence.batch * problem_.nhead_q + rows.head) * rows_q_ + sequence.first_q + rows.range.begin;
    const std::int64_t count = rows.range.size();
    return {rows,
            first_row,
            load(inputs_.q, first_row, count, problem_.hdim_q),
            load(inputs_.d_o, first_row, count, problem_.hdim_v),
            std::vector<Real>(static_cast<std::size_t>(count)),
            std::vector<Real>(static_cast<std::size_t>(count))};
  }

  KeyTile<Real> keys(const Rows& rows) const {
    const Sequence& sequence = sequences_[static_cast<std::size_t>(rows.sequence)];
    const std::int64_t first_row =
        (sequence.batch * problem_.nhead_k + rows.head) * rows_k_ + sequence.first_k + rows.range.begin;
    Matrix<Real> k = load(inputs_.k, first_row, rows.range.size(), problem_.hdim_q);
    Matrix<Real> v = load(inputs_.v, first_row, rows.range.size(), problem_.hdim_v);
    Matrix<Real> k_transposed = transposed(k);
    Matrix<Real> v_transposed = transposed(v);
    return {rows, first_row, std::move(k), std::move(k_transposed), std::move(v), std::move(v_transposed)};
  }

 private:
  std::vector<Rows> all_rows(std::int64_t heads, std::int64_t Sequence::*seqlen) const {
    std::vector<Rows> all;
    for (std::size_t b = 0; b < sequences_.size(); ++b) {
      const std::int64_t length = sequences_[b].*seqlen;
      for (std::int64_t head = 0; head < heads; ++head) {
        for (std::int64_t first = 0; first < length; first += kTile) {
          all.push_back({static_cast<std::int64_t>(b), head, tile_at(first, length)});
        }
      }
    }
    return all;
  }

  static Matrix<Real> load(const std::vector<float>& tensor, std::int64_t first_row, std::int64_t rows,
                           std::int64_t columns) {
    Matrix<Real> tile(rows, columns);
    std::copy_n(tensor.begin() + first_row * columns, rows * columns, tile.elements.begin());
    return tile;
  }

  const Problem& problem_;
  const AttentionInputs& inputs_;
  std::vector<Sequence> sequences_;
  std::int64_t rows_q_;
  std::int64_t rows_k_;
};

}  // namespace fmha_bwd
