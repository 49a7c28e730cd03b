#include "tests/kernels/platform/emulator/matrix_core_kernels.h"

#include <cstddef>

namespace fmha_bwd::test_kernels {
namespace {

/// `n` elements of this lane.
template <int n, class T>
T* of_lane(T* first) {
  return first + std::size_t{blockIdx.x * blockDim.x + threadIdx.x} * n;
}

/// Does `instruction` with the lane's words of A and B and registers of C.
template <int words_a, int words_b, int registers, class Do>
void with_operands(const Operands& operands, const Do& instruction) {
  std::uint32_t a[words_a];
  std::uint32_t b[words_b];
  float c[registers];
  for (int i = 0; i < words_a; ++i) a[i] = of_lane<words_a>(operands.a)[i];
  for (int i = 0; i < words_b; ++i) b[i] = of_lane<words_b>(operands.b)[i];
  for (int i = 0; i < registers; ++i) c[i] = of_lane<registers>(operands.c)[i];
  instruction(c, a, b);
  for (int i = 0; i < registers; ++i) of_lane<registers>(operands.c)[i] = c[i];
}

template <class T>
void multiply_elements(Instruction instruction, const Operands& operands) {
  switch (instruction) {
    case Instruction::mfma_16x16x16:
      return with_operands<2, 2, 4>(operands, [](auto& c, auto& a, auto& b) { mfma_16x16x16<T>(c, a, b); });
    case Instruction::mfma_32x32x8:
      return with_operands<2, 2, 16>(operands, [](auto& c, auto& a, auto& b) { mfma_32x32x8<T>(c, a, b); });
    case Instruction::mfma_16x16x32_gfx950:
      return with_operands<4, 4, 4>(operands,
                                    [](auto& c, auto& a, auto& b) { mfma_16x16x32_gfx950<T>(c, a, b); });
    case Instruction::mfma_32x32x16_gfx950:
      return with_operands<4, 4, 16>(operands,
                                     [](auto& c, auto& a, auto& b) { mfma_32x32x16_gfx950<T>(c, a, b); });
    case Instruction::mfma_16x16x32:
      return with_operands<4, 4, 4>(operands, [](auto& c, auto& a, auto& b) { mfma_16x16x32<T>(c, a, b); });
    case Instruction::wmma_16x16x16_gfx11:
      return with_operands<8, 8, 8>(operands,
                                    [](auto& c, auto& a, auto& b) { wmma_16x16x16_gfx11<T>(c, a, b); });
    case Instruction::wmma_16x16x16_gfx12:
      return with_operands<4, 4, 8>(operands,
                                    [](auto& c, auto& a, auto& b) { wmma_16x16x16_gfx12<T>(c, a, b); });
    case Instruction::mma_16x8x16:
      return with_operands<4, 2, 4>(operands, [](auto& c, auto& a, auto& b) { mma_16x8x16<T>(c, a, b); });
  }
}

void store_words(const std::uint32_t (&words)[4], std::uint32_t* out) {
  for (int i = 0; i < 4; ++i) of_lane<4>(out)[i] = words[i];
}

}  // namespace

__global__ void multiply(Instruction instruction, DType dtype, Operands operands) {
  if (dtype == DType::fp16) {
    multiply_elements<Half>(instruction, operands);
  } else {
    multiply_elements<Bfloat16>(instruction, operands);
  }
}

__global__ void load_matrices(const std::uint32_t* rows, bool transposed, int skew, std::uint32_t* words) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  uint4* const own = shared + (31 - threadIdx.x);
  const std::uint32_t* const row = of_lane<4>(rows);
  *own = make_uint4(row[0], row[1], row[2], row[3]);
  __syncthreads();
  const void* const address = reinterpret_cast<const std::byte*>(own) + skew;
  std::uint32_t loaded[4];
  if (transposed) {
    ldmatrix_x4_trans(loaded, address);
  } else {
    ldmatrix_x4(loaded, address);
  }
  store_words(loaded, words);
}

__global__ void load_matrices_from(const void* device, std::uint32_t* words) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  std::uint32_t loaded[4];
  ldmatrix_x4(loaded, device != nullptr ? device : shared);
  store_words(loaded, words);
}

__global__ void swap(const std::uint32_t* values, std::uint32_t* swapped) {
  swapped[threadIdx.x] = swap_halves(values[threadIdx.x]);
}

__global__ void exponentiate(const float* x, float* results) {
  results[threadIdx.x] = exp2_approximate(x[threadIdx.x]);
}

__global__ void neighbour_after_matrices(bool load, int* out) {
  HIP_DYNAMIC_SHARED(int, shared)
  uint4* const rows = reinterpret_cast<uint4*>(shared + blockDim.x);
  rows[threadIdx.x] = make_uint4(0, 0, 0, 0);
  shared[threadIdx.x] = 0;
  __syncthreads();
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  std::uint32_t a[4] = {};
  if (load) {
    ldmatrix_x4(a, &rows[threadIdx.x]);
  } else {
    const std::uint32_t b[2] = {};
    float c[4] = {};
    mma_16x8x16<Half>(c, a, b);
  }
  out[threadIdx.x] = shared[threadIdx.x ^ 1];
}

const int multiply_at_two_sites_lines[2] = {__LINE__ + 6, __LINE__ + 8};

__global__ void multiply_at_two_sites(int first_lanes) {
  const std::uint32_t a[2] = {};
  float c[4] = {};
  if (static_cast<int>(threadIdx.x) < first_lanes) {
    mfma_16x16x16<Half>(c, a, a);
  } else {
    mfma_16x16x16<Half>(c, a, a);
  }
}

__global__ void multiply_two_types(int first_lanes) {
  const std::uint32_t a[2] = {};
  float c[4] = {};
  const bool is_first = static_cast<int>(threadIdx.x) < first_lanes;
  is_first ? mfma_16x16x16<Half>(c, a, a) : mfma_16x16x16<Bfloat16>(c, a, a);
}

__global__ void multiply_after_exit(int first_lanes) {
  const std::uint32_t a[2] = {};
  float c[4] = {};
  if (static_cast<int>(threadIdx.x) >= first_lanes) mfma_16x16x16<Half>(c, a, a);
}

__global__ void load_matrices_at_two_sites(int first_lanes) {
  HIP_DYNAMIC_SHARED(uint4, shared)
  shared[threadIdx.x] = make_uint4(0, 0, 0, 0);
  std::uint32_t words[4];
  if (static_cast<int>(threadIdx.x) < first_lanes) {
    ldmatrix_x4(words, &shared[threadIdx.x]);
  } else {
    ldmatrix_x4(words, &shared[threadIdx.x]);
  }
}

}  // namespace fmha_bwd::test_kernels
