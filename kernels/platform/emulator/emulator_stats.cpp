#include "kernels/emulator_stats.h"

#include "kernels/platform/emulator/shared_access_counts.h"

namespace fmha_bwd {

bool has_emulator_stats() {
#if defined(FMHA_BWD_THREAD_SANITIZER)
  return false;
#else
  return true;
#endif
}

EmulatorStats::EmulatorStats() {
  static_cast<void>(hip_emulator::take_shared_accesses());
  hip_emulator::count_shared_accesses(true);
}

EmulatorStats::~EmulatorStats() { hip_emulator::count_shared_accesses(false); }

std::vector<SharedAccessSite> EmulatorStats::take() { return hip_emulator::take_shared_accesses(); }

}  // namespace fmha_bwd
