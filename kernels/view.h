// Where a head's rows stand in a tensor on the device.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/sequences.h"
#include "base/tensor.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// The rows of one head of one sequence, columns contiguous.
template <class T>
struct Rows {
  T* data;     // [rows, columns]
  int rows;    // of the whole sequence
  int stride;  // elements from one row to the next
  int columns;

  FMHA_BWD_HOST_DEVICE T* row(int index) const { return data + static_cast<std::int64_t>(index) * stride; }
};

/// A tensor on the device, [batch, head, row, column], columns contiguous. Strides count elements. Rows of a
/// sequence, columns and the stride of rows are counted in 32 bits (the family refuses what needs more),
/// offsets in 64.
template <class T>
struct View {
  T* data;
  int columns;
  std::int64_t batch_stride;
  std::int64_t head_stride;
  int row_stride;

  /// `rows` rows of a head from `first_row` on.
  FMHA_BWD_HOST_DEVICE Rows<T> part(std::int64_t batch, std::int64_t head, std::int64_t first_row,
                                    std::int64_t rows) const {
    return {data + batch * batch_stride + head * head_stride + first_row * row_stride, static_cast<int>(rows),
            row_stride, columns};
  }
  /// The rows of a head of `sequence`, where the tensor has those of Q.
  FMHA_BWD_HOST_DEVICE Rows<T> queries(const Sequence& sequence, std::int64_t head) const {
    return part(sequence.batch, head, sequence.place_q, sequence.seqlen_q);
  }
  /// The same, where it has those of K.
  FMHA_BWD_HOST_DEVICE Rows<T> keys(const Sequence& sequence, std::int64_t head) const {
    return part(sequence.batch, head, sequence.place_k, sequence.seqlen_k);
  }
};

/// The view of a tensor at `data` with `columns` columns and `strides`.
template <class T>
View<T> view_of(void* data, std::int64_t columns, const Strides& strides) {
  return {static_cast<T*>(data), static_cast<int>(columns), strides.batch, strides.head,
          static_cast<int>(strides.row)};
}

/// The view of the problem's tensor `id` at `data`, the address of its own first element.
template <class T>
View<T> view_of(void* data, TensorId id, const Problem& problem) {
  return view_of<T>(data, shape_of(id, problem).column, place_of(id, problem).strides);
}

/// The sequences of a problem: all of one length, or a table of them in group mode.
struct SequenceTable {
  const Sequence* sequences;  // [batch]; nullptr in batch mode
  std::int64_t seqlen_q;      // the longest
  std::int64_t seqlen_k;

  FMHA_BWD_HOST_DEVICE Sequence at(std::int64_t index) const {
    if (sequences != nullptr) return sequences[index];
    return {index, seqlen_q, seqlen_k, 0, 0, 0, 0};
  }
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
