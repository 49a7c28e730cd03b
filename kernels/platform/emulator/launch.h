// Running a grid: workgroups in parallel on the CPU's threads, each thread one workgroup at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {

struct Settings {
  int threads = 0;                             // 0: as many as the machine has
  std::optional<std::uint64_t> schedule_seed;  // of a random order of workgroups and lanes; nothing: in order
};

/// For all launches from now on. The environment's FMHA_BWD_EMULATOR_THREADS and FMHA_BWD_EMULATOR_SEED set
/// what holds before.
void set_settings(const Settings& settings);
Settings settings();

/// Runs `body` once for each lane of the grid. What went wrong in the first workgroup where anything did, or
/// nothing; workgroups that have not started then are left out. Where the shape says that accesses of shared
/// memory are counted, those of the workgroups that ended well are added to `counted`. Throws std::bad_alloc.
std::optional<Failure> run_grid(LaunchShape shape, const std::function<void()>& body,
                                std::vector<CountedSite>* counted = nullptr);

}  // namespace hip_emulator
