// HIP's device functions, for the lane that runs.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kernels/platform/emulator/vector_types.h"

namespace hip_emulator {

// They never change for a lane, and compilers may call them once.
[[gnu::const]] uint3 thread_index();
[[gnu::const]] uint3 block_index();
[[gnu::const]] dim3 block_dim();
[[gnu::const]] dim3 grid_dim();
[[gnu::const]] int wave_size();
[[gnu::const]] int lane_in_wave();
[[gnu::const]] void* shared_block();

/// Nanoseconds of the host's clock.
long long clock64();

// The defaults stand for where the function is called: lanes must meet at the same place.
#define FMHA_BWD_CALL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

void __syncthreads(FMHA_BWD_CALL_SITE);
/// A bit for each lane of the wave: 1 where its predicate is not 0.
unsigned long long __ballot(int predicate, FMHA_BWD_CALL_SITE);
int __any(int predicate, FMHA_BWD_CALL_SITE);
int __all(int predicate, FMHA_BWD_CALL_SITE);

/// The value that lane `source` of the wave brought.
std::uint64_t shuffle_bits(std::uint64_t bits, int source, const char* operation, const char* file, int line);
/// How many lanes a shuffle of `width` stays within; 0 stands for the whole wave. The launch fails where it
/// is no power of two up to the wave's size.
int shuffle_group(int width, const char* operation, const char* file, int line);

template <class T>
concept Shuffled = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <Shuffled T>
T shuffle(T value, int source, const char* operation, const char* file, int line) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(
      static_cast<Bits>(shuffle_bits(std::bit_cast<Bits>(value), source, operation, file, line)));
}

// Shuffles within groups of `width` lanes. A lane whose source is outside of its group keeps its value;
// __shfl wraps around, and __shfl_xor may reach into an earlier group, as on hardware.
template <Shuffled T>
T __shfl(T value, int source, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = shuffle_group(width, "__shfl", file, line);
  const int first = lane_in_wave() / group * group;
  return shuffle(value, first + (source & (group - 1)), "__shfl", file, line);
}
template <Shuffled T>
T __shfl_xor(T value, int lanes, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = shuffle_group(width, "__shfl_xor", file, line);
  const int self = lane_in_wave();
  const int source = self ^ lanes;
  return shuffle(value, source < (self / group + 1) * group ? source : self, "__shfl_xor", file, line);
}
template <Shuffled T>
T __shfl_up(T value, unsigned lanes, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = shuffle_group(width, "__shfl_up", file, line);
  const int self = lane_in_wave();
  const int source = self - static_cast<int>(lanes);
  return shuffle(value, source >= self / group * group ? source : self, "__shfl_up", file, line);
}
template <Shuffled T>
T __shfl_down(T value, unsigned lanes, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = shuffle_group(width, "__shfl_down", file, line);
  const int self = lane_in_wave();
  const int source = self + static_cast<int>(lanes);
  return shuffle(value, source < (self / group + 1) * group ? source : self, "__shfl_down", file, line);
}

// Inline, so that they are instrumented as part of the kernel.
template <class T>
concept AtomicallyAdded = std::same_as<T, float> || std::same_as<T, int> || std::same_as<T, unsigned> ||
    std::same_as<T, unsigned long long>;

/// The value before, as all of these.
template <AtomicallyAdded T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref(*address).fetch_add(value, std::memory_order_relaxed);
}
inline int atomicMax(int* address, int value) {
  const std::atomic_ref shared(*address);
  int before = shared.load(std::memory_order_relaxed);
  while (!shared.compare_exchange_weak(before, before > value ? before : value, std::memory_order_relaxed)) {
  }
  return before;
}
inline int atomicMin(int* address, int value) {
  const std::atomic_ref shared(*address);
  int before = shared.load(std::memory_order_relaxed);
  while (!shared.compare_exchange_weak(before, before < value ? before : value, std::memory_order_relaxed)) {
  }
  return before;
}
inline float unsafeAtomicAdd(float* address, float value) { return atomicAdd(address, value); }

// Lanes of a workgroup take turns on one thread; the compiler keeps the order.
inline void __threadfence() { asm volatile("" ::: "memory"); }
inline float __expf(float x) { return std::exp(x); }

}  // namespace hip_emulator
