// Names, shapes, strides and host copies of the tensors of a problem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/problem.h"

namespace fmha_bwd {

/// The order gives each input its random stream; see base/random.h.
enum class TensorId { q, k, v, d_o, o, lse, d, dq, dk, dv };

inline constexpr std::array<TensorId, 4> kInputs = {TensorId::q, TensorId::k, TensorId::v, TensorId::d_o};
inline constexpr std::array<TensorId, 3> kGradients = {TensorId::dq, TensorId::dk, TensorId::dv};
inline constexpr std::array<TensorId, 6> kOutputs = {TensorId::o,  TensorId::lse, TensorId::d,
                                                     TensorId::dq, TensorId::dk,  TensorId::dv};

/// "Q", "K", "V", "dO", "O", "LSE", "D", "dQ", "dK", "dV".
std::string_view name_of(TensorId id);

/// [batch, head, row, column]. LSE and D have one column.
struct Shape {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;

  FMHA_BWD_HOST_DEVICE std::int64_t elements() const { return batch * head * row * column; }
  /// The four indices of element number `element`, counted in row-major order.
  FMHA_BWD_HOST_DEVICE Shape index_of(std::int64_t element) const {
    const std::int64_t row_number = element / column;
    const std::int64_t head_number = row_number / row;
    return {head_number / head, head_number % head, row_number % row, element % column};
  }
  bool operator==(const Shape&) const = default;
};

Shape shape_of(TensorId id, const Problem& problem);

/// Elements from one batch, head or row of a tensor to the next; columns are contiguous.
struct Strides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;

  /// Elements from the start of the tensor to the one at `index`.
  FMHA_BWD_HOST_DEVICE std::int64_t offset_of(const Shape& index) const {
    return index.batch * batch + index.head * head + index.row * row + index.column;
  }
  bool operator==(const Strides&) const = default;
};

/// Of a contiguous tensor of `shape` in `layout`.
Strides strides_of(const Shape& shape, Layout layout);
/// Of the tensor on the device, which is contiguous: in the problem's layout, but LSE and D always in bhsd.
Strides strides_of(TensorId id, const Problem& problem);

/// fp32 for LSE and D, else the problem's type.
DType dtype_of(TensorId id, const Problem& problem);

/// A tensor's bits on the host; row-major, whatever the problem's layout.
struct HostTensor {
  DType dtype = DType::fp32;
  Shape shape;
  std::vector<std::byte> bytes;  // shape.elements() * size_of(dtype)
};

/// The host copy of a tensor from the bytes that stand on the device, as strides_of says. Throws
/// std::invalid_argument where they do not fill the tensor's shape.
HostTensor tensor_from_device(std::vector<std::byte> bytes, TensorId id, const Problem& problem);
/// The values, exactly.
std::vector<float> values_of(const HostTensor& tensor);
/// `values` rounded to `dtype`; there are shape.elements() of them.
HostTensor tensor_from(const std::vector<float>& values, const Shape& shape, DType dtype);

/// FNV-1a over 64-bit words of the bits of the tensors in turn: equal inputs have equal checksums everywhere.
class Checksum {
 public:
  void add(const HostTensor& tensor);
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace fmha_bwd
