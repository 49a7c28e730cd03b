// Matrix instructions of AMD's and NVIDIA's GPUs, and what feeds them, for the lanes of a wave. Kernel
// sources find this behind <matrix_core.h>.
//
// Elements have 16 bits; an operand of A or B is words of two, low half first, and C is in fp32. T is
// fmha_bwd::Half or fmha_bwd::Bfloat16. Which lane has which element: matrix_layouts.h. All lanes of a whole
// wave must come to the same call, and the launch fails where they do not, or where the architecture has no
// such instruction. A multiplication does not order the wave's memory accesses; ldmatrix does, as a shuffle.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/platform/emulator/async_copy.h"
#include "kernels/platform/emulator/device_functions.h"

namespace hip_emulator {

enum class MatrixInstruction {
  mfma_16x16x16,
  mfma_32x32x8,
  mfma_16x16x32_gfx950,
  mfma_32x32x16_gfx950,
  mfma_16x16x32,
  wmma_16x16x16_gfx11,
  wmma_16x16x16_gfx12,
  mma_16x8x16,
};

template <class T>
concept MatrixElement = std::same_as<T, fmha_bwd::Half> || std::same_as<T, fmha_bwd::Bfloat16>;
template <MatrixElement T>
inline constexpr fmha_bwd::DType kMatrixDType =
    std::same_as<T, fmha_bwd::Half> ? fmha_bwd::DType::fp16 : fmha_bwd::DType::bf16;

/// The lane's part of C += A B, for elements of fp16 or bf16. `operation` is what reports call it.
void multiply_add(MatrixInstruction instruction, fmha_bwd::DType dtype, float* c, const std::uint32_t* a,
                  const std::uint32_t* b, const char* operation, const char* file, int line);

// CDNA, waves of 64.
template <MatrixElement T>
void mfma_16x16x16(float (&c)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[2],
                   FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::mfma_16x16x16, kMatrixDType<T>, c, a, b, "mfma_16x16x16", file, line);
}
template <MatrixElement T>
void mfma_32x32x8(float (&c)[16], const std::uint32_t (&a)[2], const std::uint32_t (&b)[2],
                  FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::mfma_32x32x8, kMatrixDType<T>, c, a, b, "mfma_32x32x8", file, line);
}
template <MatrixElement T>
void mfma_16x16x32_gfx950(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4],
                          FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::mfma_16x16x32_gfx950, kMatrixDType<T>, c, a, b, "mfma_16x16x32_gfx950",
               file, line);
}
template <MatrixElement T>
void mfma_32x32x16_gfx950(float (&c)[16], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4],
                          FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::mfma_32x32x16_gfx950, kMatrixDType<T>, c, a, b, "mfma_32x32x16_gfx950",
               file, line);
}
/// The one instruction on gfx950; before it two of 16x16x16, of words 0 and 1 and then of words 2 and 3, so
/// that A and B must have their k in the same order.
template <MatrixElement T>
void mfma_16x16x32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4],
                   FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::mfma_16x16x32, kMatrixDType<T>, c, a, b, "mfma_16x16x32", file, line);
}

/// RDNA 3. What lanes 16-31 have of A and B must be what lanes 0-15 have.
template <MatrixElement T>
void wmma_16x16x16_gfx11(float (&c)[8], const std::uint32_t (&a)[8], const std::uint32_t (&b)[8],
                         FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::wmma_16x16x16_gfx11, kMatrixDType<T>, c, a, b, "wmma_16x16x16_gfx11", file,
               line);
}
/// RDNA 4.
template <MatrixElement T>
void wmma_16x16x16_gfx12(float (&c)[8], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4],
                         FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::wmma_16x16x16_gfx12, kMatrixDType<T>, c, a, b, "wmma_16x16x16_gfx12", file,
               line);
}

/// NVIDIA's mma.sync.aligned.m16n8k16.row.col with f32 accumulators.
template <MatrixElement T>
void mma_16x8x16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                 FMHA_BWD_CALL_SITE) {
  multiply_add(MatrixInstruction::mma_16x8x16, kMatrixDType<T>, c, a, b, "mma_16x8x16", file, line);
}

/// Four words that are loaded and stored at once, whatever they are. Not by memcpy and memset, of which
/// compilers make accesses that are not instrumented.
typedef std::uint32_t SixteenBytes __attribute__((vector_size(16), may_alias));

/// Fails the launch where a lane cannot read 16 bytes at `row` with ldmatrix.
void check_row(const void* row, const char* operation, const char* file, int line);
/// Gives the lane its words of the wave's four matrices, where it has the four words of one row.
void distribute_rows(std::uint32_t* words, SixteenBytes row, bool transposed, const char* operation,
                     const char* file, int line);

// Inline, as all below that access the kernel's memory, so that they are instrumented as part of the kernel.
[[gnu::always_inline]] inline void load_matrices(std::uint32_t* words, const void* row, bool transposed,
                                                 const char* operation, const char* file, int line) {
  check_row(row, operation, file, line);
  const SixteenBytes own = *static_cast<const SixteenBytes*>(row);
  distribute_rows(words, own, transposed, operation, file, line);
}
/// NVIDIA's ldmatrix.sync.aligned.m8n8.x4.shared.b16: four matrices of 8 x 8. Lane l gives the address, a
/// multiple of 16, of row l % 8 of matrix l / 8; it gets of matrix i the elements 2 (l % 4) and the next of
/// row l / 4.
[[gnu::always_inline]] inline void ldmatrix_x4(std::uint32_t (&words)[4], const void* row,
                                               FMHA_BWD_CALL_SITE) {
  load_matrices(words, row, false, "ldmatrix_x4", file, line);
}
/// The same of the transposed matrices: rows 2 (l % 4) and the next of column l / 4.
[[gnu::always_inline]] inline void ldmatrix_x4_trans(std::uint32_t (&words)[4], const void* row,
                                                     FMHA_BWD_CALL_SITE) {
  load_matrices(words, row, true, "ldmatrix_x4_trans", file, line);
}

// NVIDIA's cp.async.cg of 16 bytes, its groups and its waits. A lane's copies happen when it waits for their
// group: who reads before finds what was there. A lane must not end before it has waited for all.

/// Both addresses are multiples of 16. Zeros where `exists` is false; `global` is not read then.
void copy_async(void* shared, const void* global, bool exists, FMHA_BWD_CALL_SITE);
/// Makes a group of the lane's copies since the last one.
void copy_async_commit(FMHA_BWD_CALL_SITE);
/// The next copy that must have happened where only `pending` groups may not have; false where there is none.
bool take_finished_copy(int pending, AsyncCopy& copy);
/// Waits until at most kPending of the lane's groups are under way.
template <int kPending>
[[gnu::always_inline]] inline void copy_async_wait() {
  static_assert(kPending >= 0);
  for (AsyncCopy copy; take_finished_copy(kPending, copy);) {
    auto* const to = static_cast<SixteenBytes*>(copy.shared);
    *to = copy.exists ? *static_cast<const SixteenBytes*>(copy.global) : SixteenBytes{};
  }
}

/// Whether matrix cores take subnormal fp16 for zero. `norms` of the inputs are there where they do.
constexpr bool flushes_halves(const float* norms) { return norms != nullptr; }

/// What lane l ^ 16 of each 32 brought: RDNA's v_permlanex16 with lanes in order.
std::uint32_t swap_halves(std::uint32_t value, FMHA_BWD_CALL_SITE);

/// 2^x; a result that is subnormal is zero.
inline float exp2_approximate(float x) {
  const float result = std::exp2(x);
  return result < 0x1p-126F ? 0.0F : result;
}

/// The upper halves of two words as one word, or the lower ones.
inline std::uint32_t upper_halves(std::uint32_t low, std::uint32_t high) {
  return low >> 16 | (high & 0xffff0000U);
}
inline std::uint32_t lower_halves(std::uint32_t low, std::uint32_t high) {
  return (low & 0xffffU) | high << 16;
}

/// Two elements, rounded to nearest even, `low` in the low half.
template <class T>
std::uint32_t pack(float low, float high) {
  const auto bits = [](float value) -> std::uint32_t {
    if constexpr (std::is_same_v<T, fmha_bwd::Half>) {
      return fmha_bwd::half_from_float(value).bits;
    } else {
      return fmha_bwd::bfloat16_from_float(value).bits;
    }
  };
  return bits(low) | bits(high) << 16;
}

/// This thread's number in the workgroup, and the lane's in its wave.
template <bool kKept = false>
int current_thread() {
  return static_cast<int>(thread_index().x);
}
template <int kWave, bool kKept = false>
int current_lane_of() {
  return lane_in_wave();
}
/// On AMD the compiler finishes the sums before it, and moves no access to memory past it.
inline void keep_order(float (&/*sums*/)[8]) {}
template <int kWave>
int current_wave() {
  return current_thread() / kWave;
}
inline int current_block() { return static_cast<int>(block_index().x); }
/// A value that all lanes of the wave have.
inline int uniform(int value) { return value; }
inline int scalar(int value) { return value; }

/// Where sum r of a lane's kCount stands in a block of a wave's sums in global memory, [kCount, kWave].
template <int kWave>
constexpr int place_of_sum(int r, int lane) {
  return r * kWave + lane;
}
/// Adds a wave's sums to such a block, each addition atomic.
template <int kWave, int kCount>
void add_to_global(float* block, int lane, const float (&sums)[kCount]) {
  for (int r = 0; r < kCount; ++r) atomicAdd(block + place_of_sum<kWave>(r, lane), sums[r]);
}

}  // namespace hip_emulator
