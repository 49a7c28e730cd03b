#include "kernels/platform/emulator/device_functions.h"

#include <algorithm>
#include <atomic>

#include "kernels/platform/emulator/lane.h"

namespace hip_emulator {
namespace {

template <class T, class Operation>
T atomic_update(T* address, const void* code, const Operation& operation) {
  current_workgroup->check_access(reinterpret_cast<std::uintptr_t>(address), sizeof(T), Access::atomic, code);
  const std::atomic_ref<T> shared(*address);
  T before = shared.load(std::memory_order_relaxed);
  while (!shared.compare_exchange_weak(before, operation(before), std::memory_order_relaxed)) {
  }
  return before;
}

template <class T>
T atomic_add(T* address, T value, const void* code) {
  return atomic_update(address, code, [&](T before) { return before + value; });
}

}  // namespace

const uint3& thread_index() { return current_lane->thread_index; }
const uint3& block_index() { return current_workgroup->block_index(); }
const dim3& block_dim() { return current_workgroup->shape().block; }
const dim3& grid_dim() { return current_workgroup->shape().grid; }
int wave_size() { return current_workgroup->shape().wave_size; }
void* shared_block() { return current_workgroup->shared().data(); }
int lane_in_wave() { return current_lane->number % wave_size(); }

void __syncthreads(const char* file, int line) { current_workgroup->barrier({"__syncthreads", file, line}); }

std::uint64_t shuffle_bits(std::uint64_t bits, int source, const char* operation, const char* file,
                           int line) {
  return current_workgroup->wave_function(WaveFunction::shuffle, {bits, source}, {operation, file, line});
}

unsigned long long __ballot(int predicate, const char* file, int line) {
  return current_workgroup->wave_function(WaveFunction::ballot, {predicate != 0 ? 1u : 0u, 0},
                                          {"__ballot", file, line});
}

int __any(int predicate, const char* file, int line) {
  return current_workgroup->wave_function(WaveFunction::ballot, {predicate != 0 ? 1u : 0u, 0},
                                          {"__any", file, line}) != 0
             ? 1
             : 0;
}

int __all(int predicate, const char* file, int line) {
  return current_workgroup->wave_function(WaveFunction::ballot, {predicate == 0 ? 1u : 0u, 0},
                                          {"__all", file, line}) == 0
             ? 1
             : 0;
}

float atomicAdd(float* address, float value) {
  return atomic_add(address, value, __builtin_return_address(0));
}
int atomicAdd(int* address, int value) { return atomic_add(address, value, __builtin_return_address(0)); }
unsigned atomicAdd(unsigned* address, unsigned value) {
  return atomic_add(address, value, __builtin_return_address(0));
}
unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return atomic_add(address, value, __builtin_return_address(0));
}
int atomicMax(int* address, int value) {
  return atomic_update(address, __builtin_return_address(0),
                       [&](int before) { return std::max(before, value); });
}
int atomicMin(int* address, int value) {
  return atomic_update(address, __builtin_return_address(0),
                       [&](int before) { return std::min(before, value); });
}

}  // namespace hip_emulator
