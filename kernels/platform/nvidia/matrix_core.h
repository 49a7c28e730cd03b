// Tensor cores of NVIDIA GPUs from sm_80 on, behind the names that the emulator has too: mma.sync with 16-bit
// elements and fp32 sums, ldmatrix, cp.async. Operands are words of two elements, the first in the low half.
// Which element is which: kernels/mma/unit.h, after the PTX ISA.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

__device__ __forceinline__ std::uint32_t shared_address_of(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// sums += A B of 16 x 8 x 16.
template <class T>
__device__ __forceinline__ void mma_16x8x16(float (&sums)[4], const std::uint32_t (&a)[4],
                                            const std::uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, Half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// Four 8 x 8 matrices of 16-bit elements from shared memory: lane l gives the address of row l % 8 of matrix
/// l / 8; of matrix i, a lane gets row l / 4, columns 2 (l % 4) and the next, in word i.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address_of(row)));
}
/// The same of the transposed matrices: a lane gets column l / 4, rows 2 (l % 4) and the next.
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&words)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_address_of(row)));
}

/// Begins to copy 16 bytes, or to write as many zeros where `exists` is false. They are there for this thread
/// after a wait for the group that a commit puts them in, and for others after a barrier behind that.
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address_of(shared)), "l"(global),
               "r"(exists ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most kPending of this thread's groups are under way.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// The upper halves of two words as one word, or the lower ones.
__device__ __forceinline__ std::uint32_t upper_halves(std::uint32_t low, std::uint32_t high) {
  return __byte_perm(low, high, 0x7632);
}
__device__ __forceinline__ std::uint32_t lower_halves(std::uint32_t low, std::uint32_t high) {
  return __byte_perm(low, high, 0x5410);
}

/// Whether matrix cores take subnormal fp16 for zero.
__device__ __forceinline__ constexpr bool flushes_halves(const float* /*norms*/) { return false; }

/// 2^x within 2 ulp; subnormal results are zero, 2^-inf is 0.
__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Two elements, rounded to nearest even, `low` in the low half.
template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  std::uint32_t packed;
  if constexpr (std::is_same_v<T, Half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
}

/// This thread's number in the workgroup, and the lane's in its wave. Asked for anew each time: what is
/// computed of it is not kept in registers from one use to a far one.
template <bool kKept = false>
__device__ __forceinline__ int current_thread() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
template <int kWave, bool kKept = false>
__device__ __forceinline__ int current_lane_of() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/// The number of this thread's wave, likewise.
template <int kWave>
__device__ __forceinline__ int current_wave() {
  return current_thread() / kWave;
}

/// The number of this workgroup, likewise.
__device__ __forceinline__ int current_block() {
  int block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}

/// A value that all lanes of the wave have, where the compiler may know it.
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(0xffffffffU, value, 0); }
/// The same for a place in a scalar register, on GPUs that compute in those.
__device__ __forceinline__ int scalar(int value) { return value; }

/// Where sum r of a lane's kCount stands in a block of a wave's sums in global memory, [kCount, kWave].
template <int kWave>
__device__ __forceinline__ constexpr int place_of_sum(int r, int lane) {
#if __CUDA_ARCH__ >= 900
  return (r / 4 * kWave + lane) * 4 + r % 4;  // so that additions are of 16 bytes
#else
  return r * kWave + lane;
#endif
}

/// Adds a wave's sums to such a block, each addition atomic.
template <int kWave, int kCount>
__device__ __forceinline__ void add_to_global(float* block, int lane, const float (&sums)[kCount]) {
#if __CUDA_ARCH__ >= 900
#pragma unroll
  for (int r = 0; r < kCount; r += 4) {
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(
                     block + place_of_sum<kWave>(r, lane)),
                 "f"(sums[r]), "f"(sums[r + 1]), "f"(sums[r + 2]), "f"(sums[r + 3])
                 : "memory");
  }
#else
#pragma unroll
  for (int r = 0; r < kCount; ++r) atomicAdd(block + place_of_sum<kWave>(r, lane), sums[r]);
#endif
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
