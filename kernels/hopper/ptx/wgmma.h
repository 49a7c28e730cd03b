// Asynchronous matrix products of a warpgroup (PTX ISA, "wgmma"): D[64, N] += A[64, 16] B[16, N], fp16 or
// bf16 with fp32 sums.
//
// Sums: thread t of the warpgroup (warp w = t / 32, lane l = t % 32) holds in d[r], r < N / 2, row
// 16 w + l / 4 + 8 ((r / 2) % 2), column 8 (r / 4) + 2 (l % 4) + r % 2.
//
// A in registers: with row = 16 w + l / 4 and c = 2 (l % 4), word 0 is (row, columns c and c + 1), word 1 the
// same of row + 8, words 2 and 3 the same of columns + 8. Sums of 16 neighbouring columns, packed in order,
// are an A.
//
// A and B in shared memory: tiles in panels of 64 columns, a panel's rows of 128 bytes one after the other,
// 16-byte chunk c of row r at place c ^ (r % 8) (128-byte swizzle), panels aligned to 1024 bytes. Where k
// runs along the columns (kAlongRows false), 16 of k further is 32 bytes further in a panel. Where k runs
// along the rows (kAlongRows true), it is 2048 bytes further, and `panel_bytes` leads from one panel of m or
// n to the next.
//
// A product is in flight from its issue until a wait; its sums and its A in registers must not be touched
// meanwhile.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "kernels/hopper/ptx/mbarrier.h"
#include "kernels/unroll.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// The matrix descriptor of an operand at `tile`; panel_bytes only where k runs along the rows and m or n
/// spans panels.
__device__ __forceinline__ std::uint64_t descriptor(const void* tile, unsigned panel_bytes = 0) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t kEightRows = std::uint64_t{1024 >> 4} << 32;
  return kSwizzle128 | kEightRows | (std::uint64_t{panel_bytes >> 4} << 16) |
         ((shared_address(tile) & 0x3FFFF) >> 4);
}

/// `descriptor` moved on by `bytes`.
__device__ __forceinline__ std::uint64_t moved(std::uint64_t descriptor, int bytes) {
  return descriptor + static_cast<std::uint64_t>(bytes >> 4);
}

/// Before the first product, and whenever registers that a product reads were written since.
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends a group of products.
__device__ __forceinline__ void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Keeps the compiler from moving uses of finished sums to before the wait that finished them.
template <int kCount>
__device__ __forceinline__ void products_finished(float (&d)[kCount]) {
  FMHA_BWD_UNROLL
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
/// Waits until at most kGroups groups are in flight.
template <int kGroups>
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

// The operand lists of the instructions, for N = 32, 64 and 128.
#define FMHA_BWD_SUMS_8(d, i)                                                                 \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define FMHA_BWD_SUMS_32(d, i) \
  FMHA_BWD_SUMS_8(d, i), FMHA_BWD_SUMS_8(d, i + 8), FMHA_BWD_SUMS_8(d, i + 16), FMHA_BWD_SUMS_8(d, i + 24)
#define FMHA_BWD_LIST_16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
#define FMHA_BWD_LIST_32                                                    \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
#define FMHA_BWD_LIST_64                                                             \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "

// One instruction: D = A B + D, the last term only where the operand `add` is not 0.
#define FMHA_BWD_WGMMA(shape, type, d, operands, add)                                                \
  "{.reg .pred adds; setp.ne.b32 adds, " add ", 0; wgmma.mma_async.sync.aligned." shape ".f32." type \
  "." type " " d operands "}"

/// d += A B, or d = A B where kFresh; A and B in shared memory.
template <class T, int kN, bool kFresh, bool kAAlongRows, bool kBAlongRows>
__device__ __forceinline__ void multiply(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b) {
  static_assert(kN == 32 || kN == 64 || kN == 128);
  if constexpr (std::is_same_v<T, Half> && kN == 32) {
    asm volatile(
        FMHA_BWD_WGMMA("m64n32k16", "f16", FMHA_BWD_LIST_16, "%16, %17, adds, 1, 1, %19, %20;", "%18")
        : FMHA_BWD_SUMS_8(d, 0), FMHA_BWD_SUMS_8(d, 8)
        : "l"(a), "l"(b), "n"(kFresh ? 0 : 1), "n"(kAAlongRows ? 1 : 0), "n"(kBAlongRows ? 1 : 0));
  } else if constexpr (kN == 32) {
    asm volatile(
        FMHA_BWD_WGMMA("m64n32k16", "bf16", FMHA_BWD_LIST_16, "%16, %17, adds, 1, 1, %19, %20;", "%18")
        : FMHA_BWD_SUMS_8(d, 0), FMHA_BWD_SUMS_8(d, 8)
        : "l"(a), "l"(b), "n"(kFresh ? 0 : 1), "n"(kAAlongRows ? 1 : 0), "n"(kBAlongRows ? 1 : 0));
  } else if constexpr (std::is_same_v<T, Half> && kN == 64) {
    asm volatile(
        FMHA_BWD_WGMMA("m64n64k16", "f16", FMHA_BWD_LIST_32, "%32, %33, adds, 1, 1, %35, %36;", "%34")
        : FMHA_BWD_SUMS_32(d, 0)
        : "l"(a), "l"(b), "n"(kFresh ? 0 : 1), "n"(kAAlongRows ? 1 : 0), "n"(kBAlongRows ? 1 : 0));
  } else if constexpr (std::is_same_v<T, Half>) {
    asm volatile(
        FMHA_BWD_WGMMA("m64n128k16", "f16", FMHA_BWD_LIST_64, "%64, %65, adds, 1, 1, %67, %68;", "%66")
        : FMHA_BWD_SUMS_32(d, 0), FMHA_BWD_SUMS_32(d, 32)
        : "l"(a), "l"(b), "n"(kFresh ? 0 : 1), "n"(kAAlongRows ? 1 : 0), "n"(kBAlongRows ? 1 : 0));
  } else if constexpr (kN == 64) {
    asm volatile(
        FMHA_BWD_WGMMA("m64n64k16", "bf16", FMHA_BWD_LIST_32, "%32, %33, adds, 1, 1, %35, %36;", "%34")
        : FMHA_BWD_SUMS_32(d, 0)
        : "l"(a), "l"(b), "n"(kFresh ? 0 : 1), "n"(kAAlongRows ? 1 : 0), "n"(kBAlongRows ? 1 : 0));
  } else {
    asm volatile(
        FMHA_BWD_WGMMA("m64n128k16", "bf16", FMHA_BWD_LIST_64, "%64, %65, adds, 1, 1, %67, %68;", "%66")
        : FMHA_BWD_SUMS_32(d, 0), FMHA_BWD_SUMS_32(d, 32)
        : "l"(a), "l"(b), "n"(kFresh ? 0 : 1), "n"(kAAlongRows ? 1 : 0), "n"(kBAlongRows ? 1 : 0));
  }
}

/// d += A B, or d = A B where `adds` is false; A in registers, B in shared memory.
template <class T, int kN, bool kBAlongRows>
__device__ __forceinline__ void multiply(float (&d)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t b,
                                         bool adds) {
  static_assert(kN == 64 || kN == 128);
  if constexpr (std::is_same_v<T, Half> && kN == 64) {
    asm volatile(FMHA_BWD_WGMMA("m64n64k16", "f16", FMHA_BWD_LIST_32,
                                "{%32, %33, %34, %35}, %36, adds, 1, 1, %38;", "%37")
                 : FMHA_BWD_SUMS_32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)),
                   "n"(kBAlongRows ? 1 : 0));
  } else if constexpr (std::is_same_v<T, Half>) {
    asm volatile(FMHA_BWD_WGMMA("m64n128k16", "f16", FMHA_BWD_LIST_64,
                                "{%64, %65, %66, %67}, %68, adds, 1, 1, %70;", "%69")
                 : FMHA_BWD_SUMS_32(d, 0), FMHA_BWD_SUMS_32(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)),
                   "n"(kBAlongRows ? 1 : 0));
  } else if constexpr (kN == 64) {
    asm volatile(FMHA_BWD_WGMMA("m64n64k16", "bf16", FMHA_BWD_LIST_32,
                                "{%32, %33, %34, %35}, %36, adds, 1, 1, %38;", "%37")
                 : FMHA_BWD_SUMS_32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)),
                   "n"(kBAlongRows ? 1 : 0));
  } else {
    asm volatile(FMHA_BWD_WGMMA("m64n128k16", "bf16", FMHA_BWD_LIST_64,
                                "{%64, %65, %66, %67}, %68, adds, 1, 1, %70;", "%69")
                 : FMHA_BWD_SUMS_32(d, 0), FMHA_BWD_SUMS_32(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)),
                   "n"(kBAlongRows ? 1 : 0));
  }
}

#undef FMHA_BWD_WGMMA
#undef FMHA_BWD_SUMS_8
#undef FMHA_BWD_SUMS_32
#undef FMHA_BWD_LIST_16
#undef FMHA_BWD_LIST_32
#undef FMHA_BWD_LIST_64

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
