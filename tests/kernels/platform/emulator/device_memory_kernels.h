// Kernels that touch device memory, well and badly.
#pragma once

#include <cstdint>

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

/// One lane reads, or writes, `bytes` (1, 2, 4, 8 or 16) at `offset` bytes from `memory`.
__global__ void read_device(const std::byte* memory, std::ptrdiff_t offset, int bytes, std::uint64_t* out);
__global__ void write_device(std::byte* memory, std::ptrdiff_t offset, int bytes);
__global__ void add_to_device(std::byte* memory, std::ptrdiff_t offset);
/// Thread i of the grid writes element i, if it is even or `odd_too`.
__global__ void write_elements(int* memory, bool odd_too);
/// Thread i of the grid reads element i.
__global__ void read_elements(const int* memory, int* out);

}  // namespace fmha_bwd::test_kernels
