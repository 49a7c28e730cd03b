// Kernels about matrix instructions and ldmatrix. They expect one row of threads.
#pragma once

#include <matrix_core.h>

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

enum class Instruction {
  mfma_16x16x16,
  mfma_32x32x8,
  mfma_16x16x32_gfx950,
  mfma_32x32x16_gfx950,
  mfma_16x16x32,
  wmma_16x16x16_gfx11,
  wmma_16x16x16_gfx12,
  mma_16x8x16,
};

/// Where each workgroup has its own operands, lane by lane.
struct Operands {
  const std::uint32_t* a;
  const std::uint32_t* b;
  float* c;
};
/// One instruction in every wave.
__global__ void multiply(Instruction instruction, DType dtype, Operands operands);

/// Thread i stores the words that ldmatrix gives it. Before, the wave writes 8 x 4 rows of 16 bytes into
/// shared memory, the last one first, so that thread i's row is row 31 - i; its address is `skew` bytes
/// further.
__global__ void load_matrices(const std::uint32_t* rows, bool transposed, int skew, std::uint32_t* words);
/// From one place for all lanes where nothing was written, or null: from device memory.
__global__ void load_matrices_from(const void* device, std::uint32_t* words);

__global__ void swap(const std::uint32_t* values, std::uint32_t* swapped);
__global__ void exponentiate(const float* x, float* results);

/// Thread i writes element i of shared memory, then reads element i ^ 1; between lies a multiplication or,
/// where `load`, ldmatrix.
__global__ void neighbour_after_matrices(bool load, int* out);

// Wrong, each of them. The first lanes multiply elsewhere than the others, or elements of another type, or
// not at all.
__global__ void multiply_at_two_sites(int first_lanes);
__global__ void multiply_two_types(int first_lanes);
__global__ void multiply_after_exit(int first_lanes);
__global__ void load_matrices_at_two_sites(int first_lanes);

// The lines of the calls, in the order of the sources.
extern const int multiply_at_two_sites_lines[2];

}  // namespace fmha_bwd::test_kernels
