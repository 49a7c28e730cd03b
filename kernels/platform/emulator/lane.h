// One lane: what a GPU calls a thread. It runs on a fiber until it waits for others, ends or fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/platform/emulator/architecture.h"
#include "kernels/platform/emulator/async_copy.h"
#include "kernels/platform/emulator/fiber.h"
#include "kernels/platform/emulator/stamp.h"
#include "kernels/platform/emulator/vector_types.h"

namespace hip_emulator {

/// Where in the sources lanes meet.
struct Site {
  const char* operation = "";  // "__syncthreads", "__shfl_xor", ...
  const char* file = "";
  int line = 0;

  bool operator==(const Site& other) const;
  std::string text() const;  // "__syncthreads at kernels/x.hip:12"
};

enum class WaveFunction { shuffle, ballot, ldmatrix, multiplication };

/// Whether the accesses of the wave's lanes before it happened before those after it, on every GPU. A
/// multiplication has nothing to do with memory.
constexpr bool orders_memory(WaveFunction function) { return function != WaveFunction::multiplication; }

/// What computes a multiplication or ldmatrix for all lanes of a wave, from what each has brought, in order.
using Computation = void (*)(std::span<void* const> operands, const Architecture& architecture);

/// What a lane brings to a wave function, and gets from it.
struct Exchange {
  std::uint64_t value = 0;  // brought, then got
  int source = 0;           // of a shuffle: the lane in the wave to read from
  Computation compute = nullptr;
  void* operands = nullptr;  // of `compute`, which also writes there
};

enum class LaneState { ready, at_barrier, at_wave_function, ended, failed };

struct Lane {
  FiberContext context;
  uint3 thread_index{};
  int number = 0;        // in the workgroup
  std::size_t wave = 0;  // the number of its wave in the workgroup
  LaneState state = LaneState::ready;
  Stamp stamp;  // of its next memory access
  Site site;    // where it waits
  WaveFunction function = WaveFunction::shuffle;
  Exchange exchange;
  std::vector<AsyncCopy> copies;  // that are under way, in order
  std::uint32_t copy_groups = 0;  // committed so far
};

}  // namespace hip_emulator
