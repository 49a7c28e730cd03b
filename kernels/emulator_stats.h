// What the emulator can count while it runs kernels: how their waves access shared memory. No HIP here.
#pragma once

#include <vector>

#include "base/shared_access_site.h"

namespace fmha_bwd {

/// Whether the emulator of this program can count: ThreadSanitizer's build does not see accesses.
bool has_emulator_stats();

/// From construction to destruction the emulator counts, in all launches of the process.
class EmulatorStats {
 public:
  /// Counts from zero.
  EmulatorStats();
  ~EmulatorStats();
  EmulatorStats(const EmulatorStats&) = delete;
  EmulatorStats& operator=(const EmulatorStats&) = delete;

  /// What was counted so far, by kernel and line; counts from zero again.
  std::vector<SharedAccessSite> take();
};

}  // namespace fmha_bwd
