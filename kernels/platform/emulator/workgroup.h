// A workgroup: its lanes on their fibers, scheduled on one thread, and where they meet: barriers of the
// workgroup, and the functions of one wave. Waves go on independently of one another.
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

#include "kernels/platform/emulator/architecture.h"
#include "kernels/platform/emulator/bank_conflicts.h"
#include "kernels/platform/emulator/device_memory.h"
#include "kernels/platform/emulator/lane.h"
#include "kernels/platform/emulator/shared_memory.h"
#include "kernels/platform/emulator/stacks.h"
#include "kernels/platform/emulator/vector_types.h"

namespace hip_emulator {

/// The grid that a launch asks for.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  const Architecture* architecture = &kArchitectures.front();
  std::optional<std::uint64_t> schedule_seed;  // of a random order of lanes; nothing: in order
  const Banks* counted_banks = nullptr;        // of counting the accesses of shared memory; null: no counting

  std::size_t lanes() const { return std::size_t{block.x} * block.y * block.z; }  // of a workgroup
  std::uint64_t workgroups() const { return std::uint64_t{grid.x} * grid.y * grid.z; }
};

/// What a kernel did wrong.
struct Failure {
  uint3 workgroup{};
  std::string what;            // that names the lanes
  const void* code = nullptr;  // of a wrong memory access
};

/// A thread's room for one workgroup at a time: its lanes, their stacks, its shared memory.
class Workgroup {
 public:
  /// Of at most `max_lanes`. Throws std::bad_alloc.
  explicit Workgroup(std::size_t max_lanes);

  std::size_t max_lanes() const { return stacks_.count(); }

  /// Runs `body` once a lane until all have ended. What went wrong, or nothing.
  std::optional<Failure> run(const LaunchShape& shape, const uint3& block_index,
                             const std::function<void()>& body);

  // For the lane that runs now. The lane of a failure does not go on, and nobody else of the workgroup.
  void barrier(const Site& site);
  std::uint64_t wave_function(WaveFunction function, const Exchange& exchange, const Site& site);
  [[noreturn]] void fail(std::string&& what, const void* code);

  const LaunchShape& shape() const { return *shape_; }
  const uint3& block_index() const { return block_index_; }
  SharedMemory& shared() { return shared_; }
  DeviceMemory& device() { return device_; }
  SharedAccesses* counted() { return counted_; }  // null where the launch does not count them

  /// What its workgroups have counted since the last call.
  std::vector<CountedSite> take_counted();

 private:
  struct LaneRange {
    std::size_t begin;
    std::size_t end;
  };

  void start_counting();
  static void lane_entry();
  void run_ready_lanes();
  bool meet();  // lets lanes go on that have all come where they meet; false where nobody can go on
  bool meet_in_wave(std::size_t wave);
  void exchange(LaneRange lanes);
  void stamp(Lane& lane) const;
  void fail_meeting(const std::string& what, LaneRange lanes);

  std::size_t wave_size() const { return static_cast<std::size_t>(shape_->architecture->wave_size); }
  LaneRange lanes_of(std::size_t wave) const;
  LaneRange all_lanes() const { return {0, lane_count_}; }

  /// Names for ThreadSanitizer of the places where lanes are ordered. Two of a kind take turns: a lane that
  /// is already at the next one must not look ordered before a lane that still leaves this one.
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
  FiberStacks stacks_;
  std::unique_ptr<Lane[]> lanes_;
  std::vector<std::size_t> order_;
  std::uint32_t barriers_ = 0;                 // passed so far
  std::vector<std::uint32_t> wave_functions_;  // that each wave has done so far
  Meetings meetings_;
  std::optional<Failure> failure_;
  std::mt19937_64 random_;
  FiberContext scheduler_;
  std::unique_ptr<SharedAccesses> accesses_;  // once a launch has counted
  SharedAccesses* counted_ = nullptr;         // those, while one does
  SharedMemory shared_;
  DeviceMemory& device_ = DeviceMemory::instance();
};

// The lane that runs on this thread and its workgroup; null where none does.
extern constinit thread_local Lane* current_lane;
extern constinit thread_local Workgroup* current_workgroup;

}  // namespace hip_emulator
