#include "src/files/workspace.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/dropout.h"
#include "base/error.h"
#include "base/sequences.h"
#include "src/files/case_file.h"
#include "src/files/npy.h"
#include "src/files/whole_file.h"

namespace fmha_bwd {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& option,
                         const std::string& what) {
  throw Error(ExitCode::bad_usage, place_text(option, path) + " " + what);
}

constexpr const char* kDropoutMask = "dropout_mask.npy";

/// One element a head.
bool is_per_head(TensorId id) {
  return id == TensorId::slopes || id == TensorId::sink || id == TensorId::dsink;
}
/// One element a row.
bool is_per_row(TensorId id) { return id == TensorId::lse || id == TensorId::d; }

std::vector<std::int64_t> extents_of(const Shape& shape) {
  return {shape.batch, shape.head, shape.row, shape.column};
}

/// As it is written: without the dimensions that are always 1.
std::vector<std::int64_t> file_shape(TensorId id, const Shape& shape) {
  if (is_per_head(id)) return {shape.head};
  if (is_per_row(id)) return {shape.batch, shape.head, shape.row};
  return extents_of(shape);
}

DType dtype_of(NpyType type, const std::filesystem::path& path, const std::string& option) {
  switch (type) {
    case NpyType::float16:
      return DType::fp16;
    case NpyType::bits16:
      return DType::bf16;
    case NpyType::float32:
      return DType::fp32;
    case NpyType::boolean:
      break;
  }
  refuse(path, option, "has booleans or bytes; allowed are fp16, bf16 and fp32");
}

NpyType npy_type_of(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return NpyType::float16;
    case DType::bf16:
      return NpyType::bits16;
    case DType::fp32:
      break;
  }
  return NpyType::float32;
}

/// fp32 values in a narrower type, which has to hold each exactly; any NaN will do for a NaN.
HostTensor narrowed(const HostTensor& tensor, DType dtype, const std::filesystem::path& path,
                    const std::string& option) {
  const std::vector<float> values = values_of(tensor);
  HostTensor result = tensor_from(values, tensor.shape, dtype);
  const std::vector<float> rounded = values_of(result);
  std::size_t inexact = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == values[i] && rounded[i] != values[i]) ++inexact;
  }
  if (inexact == 0) return result;
  refuse(path, option,
         "is fp32, and " + std::to_string(inexact) + " of its " + std::to_string(values.size()) +
             " values are not exact in " + std::string(name_of(dtype)) +
             "; allowed is --dtype fp32 or a file in " + std::string(name_of(dtype)));
}

struct LoadedHeader {
  std::filesystem::path path;
  Shape shape;
  DType dtype = DType::fp32;
};

/// Of a tensor with four dimensions, none of which is 0.
LoadedHeader four_dimensions(const std::filesystem::path& path, const std::string& option) {
  const NpyHeader header = read_npy_header(path, option);
  const std::vector<std::int64_t>& s = header.shape;
  if (s.size() != 4 || std::find(s.begin(), s.end(), 0) != s.end()) {
    refuse(path, option,
           "has shape " + shape_text(s) + "; allowed is (batch, head, row, column), none of them 0");
  }
  return {path, {s[0], s[1], s[2], s[3]}, dtype_of(header.type, path, option)};
}

}  // namespace

std::filesystem::path tensor_file(const std::filesystem::path& folder, TensorId id) {
  std::string name(name_of(id));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return folder / (name + ".npy");
}

bool has_tensor_file(const std::filesystem::path& folder, TensorId id) {
  std::error_code error;
  return std::filesystem::exists(tensor_file(folder, id), error);
}

bool has_shape_files(const std::filesystem::path& folder) {
  return has_tensor_file(folder, TensorId::q) && has_tensor_file(folder, TensorId::k) &&
         has_tensor_file(folder, TensorId::v);
}

bool has_all_inputs(const std::filesystem::path& folder, const Problem& problem) {
  const std::vector<TensorId> ids = inputs_of(problem);
  return std::all_of(ids.begin(), ids.end(), [&](TensorId id) { return has_tensor_file(folder, id); });
}

LoadedShape loaded_shape(const std::filesystem::path& folder, const std::string& option) {
  const auto header_of = [&](TensorId id) { return four_dimensions(tensor_file(folder, id), option); };
  const LoadedHeader q = header_of(TensorId::q);
  const LoadedHeader k = header_of(TensorId::k);
  const LoadedHeader v = header_of(TensorId::v);
  const auto require = [&](const LoadedHeader& file, const Shape& wanted, const std::string& by) {
    if (file.shape == wanted) return;
    refuse(file.path, option,
           "has shape " + shape_text(extents_of(file.shape)) + "; allowed beside " + by + " is " +
               shape_text(extents_of(wanted)));
  };
  require(k, {q.shape.batch, k.shape.head, k.shape.row, q.shape.column}, "q.npy");
  require(v, {k.shape.batch, k.shape.head, k.shape.row, v.shape.column}, "k.npy");
  if (has_tensor_file(folder, TensorId::d_o)) {
    const LoadedHeader d_o = header_of(TensorId::d_o);
    require(d_o, {q.shape.batch, q.shape.head, q.shape.row, v.shape.column}, "q.npy and v.npy");
  }
  return {q.shape.batch, q.shape.head,   k.shape.head,   q.shape.row,
          k.shape.row,   q.shape.column, v.shape.column, q.dtype};
}

BiasShape loaded_bias_shape(const std::filesystem::path& folder, const Problem& problem,
                            const std::string& option) {
  if (!has_tensor_file(folder, TensorId::bias)) return BiasShape::none;
  const LoadedHeader bias = four_dimensions(tensor_file(folder, TensorId::bias), option);
  const Shape& shape = bias.shape;
  const bool batch_fits = shape.batch == 1 || shape.batch == problem.batch;
  const bool head_fits = shape.head == 1 || shape.head == problem.nhead_q;
  if (!batch_fits || !head_fits) {
    refuse(bias.path, option,
           "has shape " + shape_text(extents_of(shape)) + "; allowed is (1 or " +
               std::to_string(problem.batch) + ", 1 or " + std::to_string(problem.nhead_q) +
               ", seqlen_q, seqlen_k)");
  }
  if (shape.batch > 1) return shape.head > 1 ? BiasShape::full : BiasShape::batch;
  return shape.head > 1 ? BiasShape::head : BiasShape::shared;
}

HostTensor load_tensor(const std::filesystem::path& folder, TensorId id, const Problem& problem,
                       const std::string& option) {
  const std::filesystem::path path = tensor_file(folder, id);
  const NpyHeader header = read_npy_header(path, option);
  const Shape shape = shape_of(id, problem);
  if (header.shape != extents_of(shape) && header.shape != file_shape(id, shape)) {
    const bool inferred = has_case(folder) || has_shape_files(folder);
    refuse(path, option,
           "has shape " + shape_text(header.shape) + "; the problem's is " +
               shape_text(file_shape(id, shape)) +
               (inferred ? "" : ", by the command line and its defaults"));
  }
  const DType wanted = dtype_of(id, problem);
  const DType dtype = dtype_of(header.type, path, option);
  if (dtype != wanted && dtype != DType::fp32) {
    refuse(path, option,
           "is " + std::string(name_of(dtype)) + "; the problem's type is " + std::string(name_of(wanted)));
  }
  HostTensor tensor{dtype, shape, read_npy_data(path, header, option)};
  return dtype == wanted ? tensor : narrowed(tensor, wanted, path, option);
}

void save_tensor(const std::filesystem::path& folder, TensorId id, const HostTensor& tensor,
                 const std::string& option) {
  write_npy(tensor_file(folder, id), npy_type_of(tensor.dtype), file_shape(id, tensor.shape), tensor.bytes,
            option);
}

void remove_saved(const std::filesystem::path& folder, const std::string& option) {
  std::vector<std::filesystem::path> files = {case_file(folder), folder / kDropoutMask};
  for (const TensorId id : kAllTensors) {
    files.push_back(tensor_file(folder, id));
    files.push_back(tensor_file(reference_folder(folder), id));
  }
  for (const std::filesystem::path& file : files) remove_file(file, option);
  std::error_code kept;  // where there is more in it
  std::filesystem::remove(reference_folder(folder), kept);
}

std::filesystem::path reference_folder(const std::filesystem::path& folder) { return folder / "reference"; }

void save_dropout_mask(const std::filesystem::path& folder, const Problem& problem,
                       const std::string& option) {
  const DropoutDraws draws = dropout_draws(problem);
  const Shape shape{problem.batch, problem.nhead_q, problem.seqlen_q, problem.seqlen_k};
  std::vector<std::byte> kept(static_cast<std::size_t>(shape.elements()), std::byte{0});
  std::int64_t sequence = 0;
  for (const Sequence& s : sequences_of(problem)) {
    for (std::int64_t head = sequence * shape.head; head < (sequence + 1) * shape.head; ++head) {
      for (std::int64_t query = 0; query < s.seqlen_q; ++query) {
        std::byte* row = kept.data() + (head * shape.row + query) * shape.column;
        for (std::int64_t key = 0; key < s.seqlen_k; ++key)
          row[key] = std::byte{draws.keeps(head, query, key)};
      }
    }
    ++sequence;
  }
  write_npy(folder / kDropoutMask, NpyType::boolean, extents_of(shape), kept, option);
}

}  // namespace fmha_bwd
