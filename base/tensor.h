// Names, shapes and host copies of the tensors of a problem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
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

/// [batch, head, row, column]; row-major, contiguous. LSE and D have one column.
struct Shape {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;

  std::int64_t elements() const { return batch * head * row * column; }
  /// The four indices of the element at `offset`.
  Shape index_of(std::int64_t offset) const;
  bool operator==(const Shape&) const = default;
};

Shape shape_of(TensorId id, const Problem& problem);
/// fp32 for LSE and D, else the problem's type.
DType dtype_of(TensorId id, const Problem& problem);

/// A tensor's bits on the host.
struct HostTensor {
  DType dtype = DType::fp32;
  Shape shape;
  std::vector<std::byte> bytes;  // shape.elements() * size_of(dtype)
};

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
