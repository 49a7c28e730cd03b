#include "base/tensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/sequences.h"

namespace fmha_bwd {
namespace {

enum class Side { query, key, neither };

/// Whose rows a tensor has.
Side side_of(TensorId id) {
  switch (id) {
    case TensorId::q:
    case TensorId::dq:
    case TensorId::o:
    case TensorId::d_o:
    case TensorId::lse:
    case TensorId::d:
      return Side::query;
    case TensorId::k:
    case TensorId::dk:
    case TensorId::v:
    case TensorId::dv:
      return Side::key;
    default:
      return Side::neither;
  }
}

bool is_packed(TensorId id, const Problem& problem) {
  if (problem.layout != Layout::qkv) return false;
  switch (id) {
    case TensorId::q:
    case TensorId::k:
    case TensorId::v:
    case TensorId::dq:
    case TensorId::dk:
    case TensorId::dv:
      return true;
    default:
      return false;
  }
}

/// [batch, head, rows on the device, column].
Shape device_shape_of(TensorId id, const Problem& problem) {
  Shape shape = shape_of(id, problem);
  if (side_of(id) == Side::query) shape.row = device_rows_q(problem);
  if (side_of(id) == Side::key) shape.row = device_rows_k(problem);
  return shape;
}

Strides contiguous_strides(const Shape& shape, bool rows_before_heads) {
  const std::int64_t batch = shape.head * shape.row * shape.column;
  if (rows_before_heads) return {batch, shape.column, shape.head * shape.column};
  return {batch, shape.row * shape.column, shape.column};
}

/// Calls body(element of the host tensor, element of the memory) for the start of each of its rows.
template <class Body>
void for_each_row(TensorId id, const Problem& problem, const Body& body) {
  const Shape shape = shape_of(id, problem);
  const Place place = place_of(id, problem);
  const auto rows = [&](std::int64_t batch, std::int64_t first, std::int64_t at, std::int64_t count) {
    for (std::int64_t head = 0; head < shape.head; ++head) {
      for (std::int64_t row = 0; row < count; ++row) {
        body(((batch * shape.head + head) * shape.row + first + row) * shape.column,
             place.offset + place.strides.offset_of({batch, head, at + row, 0}));
      }
    }
  };
  if (side_of(id) == Side::neither) {
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) rows(batch, 0, 0, shape.row);
    return;
  }
  const bool query = side_of(id) == Side::query;
  for (const Sequence& s : sequences_of(problem)) {
    query ? rows(s.batch, s.first_q, s.place_q, s.seqlen_q) : rows(s.batch, s.first_k, s.place_k, s.seqlen_k);
  }
}

void require_storage(std::size_t bytes, TensorId id, const Problem& problem) {
  const std::int64_t elements = storage_elements(place_of(id, problem).storage, problem);
  if (bytes != static_cast<std::size_t>(elements) * size_of(dtype_of(id, problem))) {
    throw std::invalid_argument("the bytes do not fill the tensor's memory");
  }
}

}  // namespace

std::vector<TensorId> inputs_of(const Problem& problem) {
  std::vector<TensorId> ids = {TensorId::q, TensorId::k, TensorId::v, TensorId::d_o};
  if (problem.bias != BiasShape::none) ids.push_back(TensorId::bias);
  if (problem.sink) ids.push_back(TensorId::sink);
  return ids;
}

std::vector<TensorId> gradients_of(const Problem& problem) {
  std::vector<TensorId> ids = {TensorId::dq, TensorId::dk, TensorId::dv};
  if (problem.bias != BiasShape::none) ids.push_back(TensorId::dbias);
  if (problem.sink) ids.push_back(TensorId::dsink);
  return ids;
}

std::vector<TensorId> outputs_of(const Problem& problem) {
  std::vector<TensorId> ids = {TensorId::o, TensorId::lse, TensorId::d};
  for (const TensorId id : gradients_of(problem)) ids.push_back(id);
  return ids;
}

bool has_tensor(const Problem& problem, TensorId id) {
  switch (id) {
    case TensorId::bias:
    case TensorId::dbias:
      return problem.bias != BiasShape::none;
    case TensorId::slopes:
      return problem.alibi;
    case TensorId::sink:
    case TensorId::dsink:
      return problem.sink;
    default:
      return true;
  }
}

std::string_view name_of(TensorId id) {
  constexpr std::array<std::string_view, kAllTensors.size()> kNames = {
      "Q", "K", "V", "dO", "O", "LSE", "D", "dQ", "dK", "dV", "bias", "dBias", "slopes", "sink", "dSink"};
  return kNames.at(static_cast<std::size_t>(id));
}

Shape shape_of(TensorId id, const Problem& p) {
  const auto sum = [](const std::vector<std::int64_t>& list) {
    return std::accumulate(list.begin(), list.end(), std::int64_t{0});
  };
  const std::int64_t batch = p.grouped() ? 1 : p.batch;
  const std::int64_t rows_q = p.grouped() ? sum(p.seqlens_q) : p.seqlen_q;
  const std::int64_t rows_k = p.grouped() ? sum(p.seqlens_k) : p.seqlen_k;
  switch (id) {
    case TensorId::q:
    case TensorId::dq:
      return {batch, p.nhead_q, rows_q, p.hdim_q};
    case TensorId::k:
    case TensorId::dk:
      return {batch, p.nhead_k, rows_k, p.hdim_q};
    case TensorId::v:
    case TensorId::dv:
      return {batch, p.nhead_k, rows_k, p.hdim_v};
    case TensorId::o:
    case TensorId::d_o:
      return {batch, p.nhead_q, rows_q, p.hdim_v};
    case TensorId::lse:
    case TensorId::d:
      return {batch, p.nhead_q, rows_q, 1};
    case TensorId::bias:
    case TensorId::dbias: {
      const bool by_batch = p.bias == BiasShape::batch || p.bias == BiasShape::full;
      const bool by_head = p.bias == BiasShape::head || p.bias == BiasShape::full;
      return {by_batch ? p.batch : 1, by_head ? p.nhead_q : 1, p.seqlen_q, p.seqlen_k};
    }
    case TensorId::slopes:
    case TensorId::sink:
    case TensorId::dsink:
      return {1, p.nhead_q, 1, 1};
  }
  return {};
}

Place place_of(TensorId id, const Problem& problem) {
  const Shape shape = device_shape_of(id, problem);
  if (!is_packed(id, problem)) {
    const bool per_row = id == TensorId::lse || id == TensorId::d;
    const bool rows_before_heads = !per_row && side_of(id) != Side::neither && problem.layout != Layout::bhsd;
    return {id, 0, contiguous_strides(shape, rows_before_heads)};
  }
  const bool gradient = id == TensorId::dq || id == TensorId::dk || id == TensorId::dv;
  const bool is_q = id == TensorId::q || id == TensorId::dq;
  const bool is_k = id == TensorId::k || id == TensorId::dk;
  const std::int64_t row = (problem.nhead_q + 2 * problem.nhead_k) * shape.column;
  const std::int64_t heads_before = is_q ? 0 : problem.nhead_q + (is_k ? 0 : problem.nhead_k);
  return {gradient ? TensorId::dq : TensorId::q,
          heads_before * shape.column,
          {shape.row * row, shape.column, row}};
}

bool owns_memory(const Problem& problem, TensorId id) {
  return has_tensor(problem, id) && place_of(id, problem).storage == id;
}

std::int64_t storage_elements(TensorId storage, const Problem& problem) {
  if (!owns_memory(problem, storage)) return 0;
  const Shape shape = device_shape_of(storage, problem);
  if (!is_packed(storage, problem)) return shape.elements();
  return shape.batch * place_of(storage, problem).strides.batch;
}

DType dtype_of(TensorId id, const Problem& problem) {
  switch (id) {
    case TensorId::lse:
    case TensorId::d:
    case TensorId::slopes:
    case TensorId::sink:
    case TensorId::dsink:
      return DType::fp32;
    default:
      return problem.dtype;
  }
}

HostTensor tensor_from_device(const std::vector<std::byte>& storage, TensorId id, const Problem& problem) {
  require_storage(storage.size(), id, problem);
  HostTensor tensor{dtype_of(id, problem), shape_of(id, problem), {}};
  const std::size_t element = size_of(tensor.dtype);
  tensor.bytes.resize(static_cast<std::size_t>(tensor.shape.elements()) * element);
  const std::size_t row_bytes = static_cast<std::size_t>(tensor.shape.column) * element;
  for_each_row(id, problem, [&](std::int64_t to, std::int64_t from) {
    std::memcpy(tensor.bytes.data() + static_cast<std::size_t>(to) * element,
                storage.data() + static_cast<std::size_t>(from) * element, row_bytes);
  });
  return tensor;
}

void tensor_to_device(const HostTensor& tensor, TensorId id, const Problem& problem,
                      std::vector<std::byte>& storage) {
  require_storage(storage.size(), id, problem);
  const std::size_t element = size_of(tensor.dtype);
  if (tensor.dtype != dtype_of(id, problem) || tensor.shape != shape_of(id, problem) ||
      tensor.bytes.size() != static_cast<std::size_t>(tensor.shape.elements()) * element) {
    throw std::invalid_argument("tensor_to_device: the tensor is not the problem's");
  }
  const std::size_t row_bytes = static_cast<std::size_t>(tensor.shape.column) * element;
  for_each_row(id, problem, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(storage.data() + static_cast<std::size_t>(to) * element,
                tensor.bytes.data() + static_cast<std::size_t>(from) * element, row_bytes);
  });
}

std::vector<float> values_of(const HostTensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.shape.elements());
  if (tensor.bytes.size() != count * size_of(tensor.dtype)) {
    throw std::invalid_argument("values_of: the tensor's bytes do not fill its shape");
  }
  std::vector<float> values(count);
  if (values.empty()) return values;  // memcpy takes no null
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
  if (values.empty()) return tensor;
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
