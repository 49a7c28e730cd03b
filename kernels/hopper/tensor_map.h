// Tensor maps: how the bulk copy engine finds a tile of a tensor. Made on the host, passed to kernels by
// value as a __grid_constant__ parameter.
#pragma once

#include <cuda.h>

#include "base/problem.h"
#include "base/tensor.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

using TensorMap = CUtensorMap;

inline constexpr int kPanelColumns = 64;
inline constexpr int kPanelRowBytes = 128;

/// The map of tensor `id`, which stands at `data`, in boxes of box_rows rows (at most 256) by kPanelColumns
/// columns, 128-byte swizzled in shared memory; map_place.h says where a sequence is in it. What of a box is
/// outside the sequence is loaded as zeros and not stored. The tensor has 16-bit elements and rows that start
/// on multiples of 16 bytes. Throws Error (device_error) where the driver refuses the map.
TensorMap tensor_map(void* data, TensorId id, const Problem& problem, int box_rows);

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
