// What fmha_bwd arch says, as a table, JSON or CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/arch/changes.h"
#include "src/arch/emulated.h"
#include "src/arch/resources.h"

namespace fmha_bwd {

struct ArchReport {
  ResourceTable table;
  std::optional<ResourceChanges> changes;        // with --baseline
  std::optional<std::vector<EmulatedRun>> runs;  // with --device
};

/// Kernels under their architectures, or with a baseline what changed; then the emulator's runs. `quiet`
/// leaves a line for each architecture and for the changes and runs, the wrong ones among them.
std::string arch_text(const ArchReport& report, bool quiet, bool colour);

/// All of it; --baseline reads the same.
std::string arch_json(const ArchReport& report);

/// A line with the names, then one for each kernel; what a platform does not have is empty.
std::string arch_csv(const ResourceTable& table);

}  // namespace fmha_bwd
