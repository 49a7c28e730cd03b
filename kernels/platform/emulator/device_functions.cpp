#include "kernels/platform/emulator/device_functions.h"

#include <bit>
#include <chrono>
#include <string>

#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {
namespace {

std::uint64_t ballot(bool predicate, const Site& site) {
  return current_workgroup->wave_function(WaveFunction::ballot, {predicate ? 1u : 0u, 0}, site);
}

}  // namespace

long long clock64() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint3 thread_index() { return current_lane->thread_index; }
uint3 block_index() { return current_workgroup->block_index(); }
dim3 block_dim() { return current_workgroup->shape().block; }
dim3 grid_dim() { return current_workgroup->shape().grid; }
int wave_size() { return current_workgroup->shape().architecture->wave_size; }
int lane_in_wave() { return current_lane->number % wave_size(); }
void* shared_block() { return current_workgroup->shared().data(); }

void __syncthreads(const char* file, int line) { current_workgroup->barrier({"__syncthreads", file, line}); }

std::uint64_t shuffle_bits(std::uint64_t bits, int source, const char* operation, const char* file,
                           int line) {
  return current_workgroup->wave_function(WaveFunction::shuffle, {bits, source}, {operation, file, line});
}

int shuffle_group(int width, const char* operation, const char* file, int line) {
  const int whole = wave_size();
  if (width == 0) return whole;
  if (width < 0 || width > whole || !std::has_single_bit(static_cast<unsigned>(width))) {
    current_workgroup->fail(Site{operation, file, line}.text() + ": width " + std::to_string(width) +
                                " is no power of two up to the wave's " + std::to_string(whole) + " lanes",
                            nullptr);
  }
  return width;
}

unsigned long long __ballot(int predicate, const char* file, int line) {
  return ballot(predicate != 0, {"__ballot", file, line});
}

int __any(int predicate, const char* file, int line) {
  return ballot(predicate != 0, {"__any", file, line}) != 0 ? 1 : 0;
}

int __all(int predicate, const char* file, int line) {
  return ballot(predicate == 0, {"__all", file, line}) == 0 ? 1 : 0;
}

}  // namespace hip_emulator
