// One lane: what a GPU calls a thread. It runs on a fiber until it waits for others, ends or fails.
#pragma once

#include <cstdint>
#include <string>

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

enum class WaveFunction { shuffle, ballot };

/// What a lane brings to a wave function, and gets from it.
struct Exchange {
  std::uint64_t value = 0;  // brought, then got
  int source = 0;           // of a shuffle: the lane in the wave to read from
};

enum class LaneState { ready, at_barrier, at_wave_function, ended, failed };

struct Lane {
  FiberContext context;
  uint3 thread_index{};
  int number = 0;  // in the workgroup
  LaneState state = LaneState::ready;
  Stamp stamp;  // of its next memory access
  Site site;    // where it waits
  WaveFunction function = WaveFunction::shuffle;
  Exchange exchange;
};

}  // namespace hip_emulator
