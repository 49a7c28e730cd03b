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
enum class TensorId { q, k, v, d_o, o, lse, d, dq, dk, dv, bias, dbias, slopes, sink, dsink };

/// Every tensor that a problem may have.
inline constexpr std::array<TensorId, 15> kAllTensors = {
    TensorId::q,    TensorId::k,     TensorId::v,      TensorId::d_o,  TensorId::o,
    TensorId::lse,  TensorId::d,     TensorId::dq,     TensorId::dk,   TensorId::dv,
    TensorId::bias, TensorId::dbias, TensorId::slopes, TensorId::sink, TensorId::dsink};

/// Q, K, V and dO; then the bias and the sinks where the problem has them. Those that are drawn at random:
/// ALiBi's slopes are not among them.
std::vector<TensorId> inputs_of(const Problem& problem);
/// dQ, dK and dV; then dBias and dSink where the problem has them.
std::vector<TensorId> gradients_of(const Problem& problem);
/// O, LSE, D and the gradients.
std::vector<TensorId> outputs_of(const Problem& problem);
/// Whether the problem has that tensor.
bool has_tensor(const Problem& problem, TensorId id);

/// "Q", "K", "V", "dO", "O", "LSE", "D", "dQ", "dK", "dV", "bias", "dBias", "slopes", "sink", "dSink".
std::string_view name_of(TensorId id);

/// [batch, head, row, column]. LSE and D have one column; slopes, sinks and dSink one element a head.
struct Shape {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;

  FMHA_BWD_HOST_DEVICE std::int64_t rows() const { return batch * head * row; }  // of all heads
  FMHA_BWD_HOST_DEVICE std::int64_t elements() const { return rows() * column; }
  /// The four indices of element number `element`, counted in row-major order.
  FMHA_BWD_HOST_DEVICE Shape index_of(std::int64_t element) const {
    const std::int64_t row_number = element / column;
    const std::int64_t head_number = row_number / row;
    return {head_number / head, head_number % head, row_number % row, element % column};
  }
  bool operator==(const Shape&) const = default;
};

/// In group mode Q's rows are those of all its sequences, one after the other without padding, and its batch
/// is 1; so are those of K and of all that has one's rows. The bias is [.., .., seqlen_q, seqlen_k] in both
/// modes; what is beyond a sequence's own lengths is not used, and its gradient is 0.
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

/// Where a tensor stands on the device. Rows count the padding (base/sequences.h).
struct Place {
  TensorId storage = TensorId::q;  // the tensor whose memory it is in: its own, or Q's or dQ's in layout qkv
  std::int64_t offset = 0;         // elements from the start of that memory to the first one
  Strides strides;
};

/// LSE and D are always bhsd; the bias, the slopes and the sinks contiguous.
Place place_of(TensorId id, const Problem& problem);
/// Whether the problem has that tensor, in memory of its own.
bool owns_memory(const Problem& problem, TensorId id);
/// Elements of the memory that `storage` owns, padding included; 0 where it owns none.
std::int64_t storage_elements(TensorId storage, const Problem& problem);

/// fp32 for LSE, D, the slopes, the sinks and their gradient, else the problem's type.
DType dtype_of(TensorId id, const Problem& problem);

/// A tensor's bits on the host; row-major and without padding, whatever the problem's layout.
struct HostTensor {
  DType dtype = DType::fp32;
  Shape shape;
  std::vector<std::byte> bytes;  // shape.elements() * size_of(dtype)
};

/// The tensor `id` out of the bytes of the memory that it is in. Throws std::invalid_argument where they are
/// not storage_elements' many.
HostTensor tensor_from_device(const std::vector<std::byte>& storage, TensorId id, const Problem& problem);
/// Writes the tensor `id` into the bytes of the memory that it is in; the inverse of tensor_from_device.
void tensor_to_device(const HostTensor& tensor, TensorId id, const Problem& problem,
                      std::vector<std::byte>& storage);

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
