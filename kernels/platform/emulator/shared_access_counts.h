// What launches count of their accesses of shared memory: one table for the process.
#pragma once

#include <vector>

#include "base/shared_access_site.h"
#include "kernels/platform/emulator/bank_conflicts.h"

namespace hip_emulator {

/// Whether launches count from now on; at first they do not. ThreadSanitizer's build counts nothing: it does
/// not see accesses (instrumentation.cpp).
void count_shared_accesses(bool on);
bool counts_shared_accesses();

/// What one launch has counted of the kernel at `function`, which the launch names `name`.
void add_shared_accesses(const void* function, const char* name, const std::vector<CountedSite>& counted);

/// The table, by kernel and line of the source, which is empty then. A row is all instructions of one line,
/// function, kind and width; where addr2line is not installed, one instruction. It takes addr2line's time.
std::vector<fmha_bwd::SharedAccessSite> take_shared_accesses();

}  // namespace hip_emulator
