// How the waves of a workgroup access shared memory, and how many cycles they lose where lanes ask one bank
// for different words.
//
// Each lane notes its accesses. Where lanes meet, the k-th access of each from one place in the program since
// they met last is one access of the wave: lanes run one after the other here, and together on a GPU. Lanes
// that have made fewer did not take part. So a wave whose lanes leave a branch out and take it the next time
// looks as if they had taken it together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/platform/emulator/banks.h"
#include "kernels/platform/emulator/fault.h"
#include "kernels/platform/emulator/lane.h"
#include "kernels/platform/emulator/stamp.h"

namespace hip_emulator {

/// One or several accesses of waves.
struct BankCounts {
  std::uint64_t accesses = 0;
  std::uint64_t phases = 0;     // in which a lane takes part: the cycles without conflicts
  std::uint64_t conflicts = 0;  // cycles more

  BankCounts& operator+=(const BankCounts& other);
  bool operator==(const BankCounts&) const = default;
};

struct LaneAccess {
  std::size_t lane;  // in the wave
  std::size_t offset;
};

/// Of the access of `bytes` that these lanes of a wave make together. More than 16 bytes a lane, or a number
/// that is no power of two, are several accesses of up to 16.
BankCounts bank_counts(const Banks& banks, Access access, std::size_t bytes,
                       std::span<const LaneAccess> lanes);

/// Where in the program an access is made, and which.
struct AccessSite {
  const void* code = nullptr;
  Access access = Access::read;
  std::size_t bytes = 0;

  bool operator==(const AccessSite&) const = default;
};

struct CountedSite {
  AccessSite site;
  BankCounts counts;
};

/// Those of one workgroup at a time.
class SharedAccesses {
 public:
  /// For a workgroup of `lanes`, which is to begin; the last one has finished or was abandoned.
  void start(const Banks& banks, std::size_t lanes, std::size_t wave_size);
  void note(const Lane& lane, const AccessSite& site, std::size_t offset);
  /// All lanes have ended.
  void finish();
  /// Forgets what was noted since lanes met last.
  void abandon();
  /// What was counted since the last call.
  std::vector<CountedSite> take();

 private:
  struct Hash {
    std::size_t operator()(const AccessSite& site) const;
  };
  struct Log {
    CountedSite counted;
    std::vector<std::vector<std::uint32_t>> offsets;  // that each lane has accessed since the last meeting
    std::vector<bool> in_wave;                        // whether one of its lanes has
  };
  struct Wave {
    Stamp stamp;                    // of an access since the last meeting
    std::vector<std::size_t> logs;  // that hold some since then
  };

  Log& log_of(const AccessSite& site);
  void count(std::size_t wave);

  const Banks* banks_ = nullptr;
  std::size_t lanes_ = 0;
  std::size_t wave_size_ = 0;
  std::vector<Wave> waves_;
  std::vector<Log> logs_;
  std::unordered_map<AccessSite, std::size_t, Hash> index_;  // into logs_
  std::vector<LaneAccess> together_;
};

}  // namespace hip_emulator
