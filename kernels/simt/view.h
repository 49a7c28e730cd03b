// Where a head's rows stand in a tensor on the device.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {

/// One head's rows of a tensor, columns contiguous.
template <class T>
struct Rows {
  T* data;     // [rows, columns]
  int rows;    // of the whole head
  int stride;  // elements from one row to the next
  int columns;
};

/// A tensor on the device, [batch, head, row, column], columns contiguous. Strides count elements.
template <class T>
struct View {
  T* data;
  int rows;
  int columns;
  std::int64_t batch_stride;
  std::int64_t head_stride;
  int row_stride;

  FMHA_BWD_HOST_DEVICE Rows<T> head(std::int64_t batch, std::int64_t head) const {
    return {data + batch * batch_stride + head * head_stride, rows, row_stride, columns};
  }
};

/// The view of a contiguous tensor. Rows of a head and columns are counted in 32 bits, offsets in 64.
template <class T>
View<T> contiguous_view(void* data, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  const auto row = static_cast<int>(columns);
  return {static_cast<T*>(data), static_cast<int>(rows), row, heads * rows * columns, rows * columns, row};
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
