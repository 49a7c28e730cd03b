#include "base/tensor.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace fmha_bwd {

std::string_view name_of(TensorId id) {
  constexpr std::array<std::string_view, 10> kNames = {"Q",   "K", "V",  "dO", "O",
                                                       "LSE", "D", "dQ", "dK", "dV"};
  return kNames.at(static_cast<std::size_t>(id));
}

Shape shape_of(TensorId id, const Problem& p) {
  switch (id) {
    case TensorId::q:
    case TensorId::dq:
      return {p.batch, p.nhead_q, p.seqlen_q, p.hdim_q};
    case TensorId::k:
    case TensorId::dk:
      return {p.batch, p.nhead_k, p.seqlen_k, p.hdim_q};
    case TensorId::v:
    case TensorId::dv:
      return {p.batch, p.nhead_k, p.seqlen_k, p.hdim_v};
    case TensorId::o:
    case TensorId::d_o:
      return {p.batch, p.nhead_q, p.seqlen_q, p.hdim_v};
    case TensorId::lse:
    case TensorId::d:
      return {p.batch, p.nhead_q, p.seqlen_q, 1};
  }
  return {};
}

Strides strides_of(const Shape& shape, Layout layout) {
  const std::int64_t batch = shape.head * shape.row * shape.column;
  switch (layout) {
    case Layout::bhsd:
      return {batch, shape.row * shape.column, shape.column};
    case Layout::bshd:
      return {batch, shape.column, shape.head * shape.column};
  }
  return {};
}

Strides strides_of(TensorId id, const Problem& problem) {
  const bool per_row = id == TensorId::lse || id == TensorId::d;
  return strides_of(shape_of(id, problem), per_row ? Layout::bhsd : problem.layout);
}

DType dtype_of(TensorId id, const Problem& problem) {
  return id == TensorId::lse || id == TensorId::d ? DType::fp32 : problem.dtype;
}

HostTensor tensor_from_device(std::vector<std::byte> bytes, TensorId id, const Problem& problem) {
  HostTensor tensor{dtype_of(id, problem), shape_of(id, problem), {}};
  const Shape& shape = tensor.shape;
  const std::size_t element = size_of(tensor.dtype);
  if (bytes.size() != static_cast<std::size_t>(shape.elements()) * element) {
    throw std::invalid_argument("tensor_from_device: the bytes do not fill the tensor's shape");
  }
  const Strides strides = strides_of(id, problem);
  if (strides == strides_of(shape, Layout::bhsd)) {
    tensor.bytes = std::move(bytes);
    return tensor;
  }
  tensor.bytes.resize(bytes.size());
  const std::size_t row_bytes = static_cast<std::size_t>(shape.column) * element;
  std::byte* to = tensor.bytes.data();
  for (std::int64_t first = 0; first < shape.elements(); first += shape.column, to += row_bytes) {
    const auto from = static_cast<std::size_t>(strides.offset_of(shape.index_of(first))) * element;
    std::memcpy(to, bytes.data() + from, row_bytes);
  }
  return tensor;
}

std::vector<float> values_of(const HostTensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.shape.elements());
  if (tensor.bytes.size() != count * size_of(tensor.dtype)) {
    throw std::invalid_argument("values_of: the tensor's bytes do not fill its shape");
  }
  std::vector<float> values(count);
  if (tensor.dtype == DType::fp32) {
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  std::vector<std::uint16_t> bits(count);
  std::memcpy(bits.data(), tensor.bytes.data(), tensor.bytes.size());
  std::transform(bits.begin(), bits.end(), values.begin(), [&](std::uint16_t x) {
    return tensor.dtype == DType::fp16 ? float_from_half(Half{x}) : float_from_bfloat16(Bfloat16{x});
  });
  return values;
}

HostTensor tensor_from(const std::vector<float>& values, const Shape& shape, DType dtype) {
  if (static_cast<std::int64_t>(values.size()) != shape.elements()) {
    throw std::invalid_argument("tensor_from: the values do not fill the shape");
  }
  HostTensor tensor{dtype, shape, std::vector<std::byte>(values.size() * size_of(dtype))};
  if (dtype == DType::fp32) {
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    return tensor;
  }
  std::vector<std::uint16_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(), [&](float x) {
    return dtype == DType::fp16 ? half_from_float(x).bits : bfloat16_from_float(x).bits;
  });
  std::memcpy(tensor.bytes.data(), bits.data(), tensor.bytes.size());
  return tensor;
}

void Checksum::add(const HostTensor& tensor) {
  const std::size_t size = tensor.bytes.size();
  for (std::size_t offset = 0; offset < size; offset += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, tensor.bytes.data() + offset, std::min(sizeof(word), size - offset));
    state_ = (state_ ^ word) * 0x100000001b3u;
  }
}

}  // namespace fmha_bwd
