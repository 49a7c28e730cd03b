// Where a head's rows stand in a tensor on the device.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/tensor.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {

/// One head's rows of a tensor, columns contiguous.
template <class T>
struct Rows {
  T* data;     // [rows, columns]
  int rows;    // of the whole head
  int stride;  // elements from one row to the next
  int columns;
};

/// A tensor on the device, [batch, head, row, column], columns contiguous. Strides count elements. Heads,
/// rows, columns and the stride of rows are counted in 32 bits (the family refuses what needs more), offsets
/// in 64.
template <class T>
struct View {
  T* data;
  int heads;
  int rows;
  int columns;
  std::int64_t batch_stride;
  std::int64_t head_stride;
  int row_stride;

  FMHA_BWD_HOST_DEVICE Rows<T> head(std::int64_t batch, std::int64_t head) const {
    return {data + batch * batch_stride + head * head_stride, rows, row_stride, columns};
  }

  /// Where row number `row` of the whole tensor starts; rows are counted in the order [batch, head, row].
  FMHA_BWD_HOST_DEVICE std::int64_t start_of(unsigned row) const {
    const unsigned head = row / static_cast<unsigned>(rows);
    const unsigned batch = head / static_cast<unsigned>(heads);
    const unsigned row_of_head = row - head * static_cast<unsigned>(rows);
    const unsigned head_of_batch = head - batch * static_cast<unsigned>(heads);
    return batch * batch_stride + head_of_batch * head_stride +
           static_cast<std::int64_t>(row_of_head) * row_stride;
  }
};

/// The view of a tensor of `shape` at `data`.
template <class T>
View<T> view_of(void* data, const Shape& shape, const Strides& strides) {
  return {static_cast<T*>(data),
          static_cast<int>(shape.head),
          static_cast<int>(shape.row),
          static_cast<int>(shape.column),
          strides.batch,
          strides.head,
          static_cast<int>(strides.row)};
}

/// The view of the problem's tensor `id` at `data`.
template <class T>
View<T> view_of(void* data, TensorId id, const Problem& problem) {
  return view_of<T>(data, shape_of(id, problem), strides_of(id, problem));
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
