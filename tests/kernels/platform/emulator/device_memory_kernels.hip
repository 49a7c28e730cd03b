#include "tests/kernels/platform/emulator/device_memory_kernels.h"

namespace fmha_bwd::test_kernels {

__global__ void read_device(const std::byte* memory, std::ptrdiff_t offset, int bytes, std::uint64_t* out) {
  const std::byte* const at = memory + offset;
  if (bytes == 1) out[0] = *reinterpret_cast<const std::uint8_t*>(at);
  if (bytes == 2) out[0] = *reinterpret_cast<const std::uint16_t*>(at);
  if (bytes == 4) out[0] = *reinterpret_cast<const std::uint32_t*>(at);
  if (bytes == 8) out[0] = *reinterpret_cast<const std::uint64_t*>(at);
  if (bytes == 16) *reinterpret_cast<uint4*>(out) = *reinterpret_cast<const uint4*>(at);
}

__global__ void write_device(std::byte* memory, std::ptrdiff_t offset, int bytes) {
  std::byte* const at = memory + offset;
  if (bytes == 1) *reinterpret_cast<std::uint8_t*>(at) = 1;
  if (bytes == 2) *reinterpret_cast<std::uint16_t*>(at) = 1;
  if (bytes == 4) *reinterpret_cast<std::uint32_t*>(at) = 1;
  if (bytes == 8) *reinterpret_cast<std::uint64_t*>(at) = 1;
  if (bytes == 16) *reinterpret_cast<uint4*>(at) = {1, 1, 1, 1};
}

__global__ void add_to_device(std::byte* memory, std::ptrdiff_t offset) {
  atomicAdd(reinterpret_cast<int*>(memory + offset), 1);
}

__global__ void write_elements(int* memory, bool odd_too) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 2 == 0 || odd_too) memory[i] = static_cast<int>(i);
}

__global__ void read_elements(const int* memory, int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = memory[i];
}

}  // namespace fmha_bwd::test_kernels
