// HIP's device functions, for the lane that runs.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/platform/emulator/vector_types.h"

namespace hip_emulator {

const uint3& thread_index();
const uint3& block_index();
const dim3& block_dim();
const dim3& grid_dim();
int wave_size();
void* shared_block();

/// Number of the lane in its wave.
int lane_in_wave();

// The defaults stand for where the function is called: lanes must meet at the same place.
#define FMHA_BWD_CALL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

void __syncthreads(FMHA_BWD_CALL_SITE);
std::uint64_t shuffle_bits(std::uint64_t bits, int source, const char* operation, const char* file, int line);
/// A bit for each lane of the wave: 1 where its predicate is not 0.
unsigned long long __ballot(int predicate, FMHA_BWD_CALL_SITE);
int __any(int predicate, FMHA_BWD_CALL_SITE);
int __all(int predicate, FMHA_BWD_CALL_SITE);

template <class T>
concept Shuffled = std::is_trivially_copyable_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <Shuffled T>
T shuffle(T value, int source, const char* operation, const char* file, int line) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(
      static_cast<Bits>(shuffle_bits(std::bit_cast<Bits>(value), source, operation, file, line)));
}

// Shuffles within groups of `width` lanes; 0 is the whole wave. A lane whose source is outside keeps its
// value.
template <Shuffled T>
T __shfl(T value, int source, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = width == 0 ? wave_size() : width;
  const int first = lane_in_wave() / group * group;
  return shuffle(value, first + (source & (group - 1)), "__shfl", file, line);
}
template <Shuffled T>
T __shfl_xor(T value, int lanes, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = width == 0 ? wave_size() : width;
  const int self = lane_in_wave();
  const int source = self ^ lanes;
  return shuffle(value, source / group == self / group ? source : self, "__shfl_xor", file, line);
}
template <Shuffled T>
T __shfl_up(T value, unsigned lanes, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = width == 0 ? wave_size() : width;
  const int self = lane_in_wave();
  const int source = self - static_cast<int>(lanes);
  return shuffle(value, source >= self / group * group ? source : self, "__shfl_up", file, line);
}
template <Shuffled T>
T __shfl_down(T value, unsigned lanes, int width = 0, FMHA_BWD_CALL_SITE) {
  const int group = width == 0 ? wave_size() : width;
  const int self = lane_in_wave();
  const int source = self + static_cast<int>(lanes);
  return shuffle(value, source < (self / group + 1) * group ? source : self, "__shfl_down", file, line);
}
#undef FMHA_BWD_CALL_SITE

// The value before.
float atomicAdd(float* address, float value);
int atomicAdd(int* address, int value);
unsigned atomicAdd(unsigned* address, unsigned value);
unsigned long long atomicAdd(unsigned long long* address, unsigned long long value);
int atomicMax(int* address, int value);
int atomicMin(int* address, int value);
inline float unsafeAtomicAdd(float* address, float value) { return atomicAdd(address, value); }

inline void __threadfence() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
inline float __expf(float x) { return std::exp(x); }

}  // namespace hip_emulator
