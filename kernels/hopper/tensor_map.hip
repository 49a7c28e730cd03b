#include "kernels/hopper/tensor_map.h"

#include <hip/hip_runtime.h>

#include <string>

#include "base/error.h"
#include "kernels/hip_check.h"
#include "kernels/hopper/map_place.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// The driver's function, found at run time so that the program starts without a driver.
Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = {};
#if CUDART_VERSION >= 12050
  constexpr unsigned kFirstVersion = 12000;
  FMHA_BWD_HIP(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kFirstVersion,
                                                cudaEnableDefault, &result));
#else
  FMHA_BWD_HIP(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &result));
#endif
  if (result != cudaDriverEntryPointSuccess || function == nullptr) {
    throw Error(ExitCode::device_error,
                "the driver has no cuTensorMapEncodeTiled; it must be of CUDA 12 or newer");
  }
  return reinterpret_cast<Encode>(function);
}

}  // namespace

TensorMap tensor_map(void* data, TensorId id, const Problem& problem, int box_rows) {
  static const Encode encode = find_encode();
  const Shape shape = shape_of(id, problem);
  const Strides stride = place_of(id, problem).strides;
  const auto count = [](std::int64_t elements) { return static_cast<cuuint64_t>(elements); };
  const auto bytes = [&](std::int64_t elements) { return count(elements) * sizeof(Half); };
  TensorMap map = {};
  if (shape.elements() == 0) return map;  // no block uses it
  const bool grouped = problem.grouped();
  const cuuint64_t extents[5] = {count(shape.column), count(grouped ? kRowsEnd : shape.row),
                                 count(shape.head), count(grouped ? kMaxRows : shape.batch),
                                 count(grouped ? kRowsEnd + 1 : 1)};
  const cuuint64_t strides[4] = {bytes(stride.row), bytes(stride.head),
                                 bytes(grouped ? stride.row : stride.batch),
                                 grouped ? count(kWholeTurn) - bytes(stride.row) : bytes(stride.batch)};
  const cuuint32_t box[5] = {kPanelColumns, static_cast<cuuint32_t>(box_rows), 1, 1, 1};
  const cuuint32_t element_strides[5] = {1, 1, 1, 1, 1};
  const CUresult status = encode(
      &map, problem.dtype == DType::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      5, data, extents, strides, box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw Error(ExitCode::device_error,
                "cuTensorMapEncodeTiled: error " + std::to_string(static_cast<int>(status)));
  }
  return map;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
