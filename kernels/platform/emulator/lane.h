// What runs: lanes, in waves, in a workgroup. This is the device side as the scheduler sees it; what kernels
// see of it is in hip/hip_runtime.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/platform/emulator/fiber.h"
#include "kernels/platform/emulator/shared_memory.h"
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

/// What a lane brings to a wave function, and gets from it.
struct Exchange {
  std::uint64_t value = 0;  // brought, then got
  int source = 0;           // of a shuffle: the lane in the wave to read from
};
enum class WaveFunction { shuffle, ballot };

enum class LaneState { ready, at_barrier, at_wave_function, finished, failed };

struct Lane {
  FiberContext context;
  uint3 thread_index{};
  int number = 0;  // in the workgroup
  LaneState state = LaneState::ready;
  Site site;
  WaveFunction function = WaveFunction::shuffle;
  Exchange exchange;
};

/// The grid that a launch asks for.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  int wave_size = 64;
  std::optional<std::uint64_t> schedule_seed;  // of a random order of lanes; nothing: in order
};

/// A thread's room for one workgroup at a time: its lanes, their stacks, its shared memory.
class Workgroup {
 public:
  Workgroup();

  /// Runs `body` once a lane until all have ended. What went wrong, or nothing.
  std::optional<std::string> run(const LaunchShape& shape, const uint3& block_index,
                                 const std::function<void()>& body);

  // For the lane that runs now.
  void barrier(const Site& site);
  std::uint64_t wave_function(WaveFunction function, const Exchange& exchange, const Site& site);
  void check_access(std::uintptr_t address, std::size_t bytes, Access access, const void* code);
  [[noreturn]] void fail(const std::string& what);

  const LaunchShape& shape() const { return *shape_; }
  const uint3& block_index() const { return block_index_; }
  SharedMemory& shared() { return shared_; }

 private:
  static void lane_entry();
  void run_ready_lanes();
  bool meet();  // lets lanes go on that have all come where they meet; false where nobody can go on
  bool meet_in_wave(int wave);
  std::string who_waits_where() const;
  int wave_of(const Lane& lane) const { return lane.number / shape_->wave_size; }

  /// Names for ThreadSanitizer of the places where lanes are ordered.
  struct Meetings {
    char start = 0;
    char end = 0;
    std::array<char, 2> barrier{};
    std::vector<std::array<char, 2>> wave;
  };

  const LaunchShape* shape_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  uint3 block_index_{};
  std::size_t lane_count_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::size_t> order_;
  std::vector<std::uint16_t> wave_functions_;  // that each wave has done since the last barrier
  std::uint32_t barriers_ = 0;
  Meetings meetings_;
  std::optional<std::string> failure_;
  std::mt19937_64 random_;
  FiberContext scheduler_;
  FiberStacks stacks_;
  SharedMemory shared_;
};

// The lane that runs on this thread and its workgroup; null where none does.
extern constinit thread_local Lane* current_lane;
extern constinit thread_local Workgroup* current_workgroup;

}  // namespace hip_emulator
