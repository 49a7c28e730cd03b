#include "base/tensor.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace fmha_bwd {

std::string_view name_of(TensorId id) {
  constexpr std::array<std::string_view, 10> kNames = {"Q",   "K", "V",  "dO", "O",
                                                       "LSE", "D", "dQ", "dK", "dV"};
  return kNames.at(static_cast<std::size_t>(id));
}

Shape Shape::index_of(std::int64_t offset) const {
  Shape index;
  index.column = offset % column;
  offset /= column;
  index.row = offset % row;
  offset /= row;
  index.head = offset % head;
  index.batch = offset / head;
  return index;
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

DType dtype_of(TensorId id, const Problem& problem) {
  return id == TensorId::lse || id == TensorId::d ? DType::fp32 : problem.dtype;
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
