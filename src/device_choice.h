// Which device a run takes, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace fmha_bwd {

struct DeviceChoice {
  std::string platform;
  int index = 0;
  std::string reason;  // one phrase for the report
};

/// `device` is "auto" or a platform's name with an optional ":index"; `arch` an architecture such as
/// "gfx942".
///
/// auto takes the first AMD, else the first NVIDIA GPU that answers and is of `arch` where that is given;
/// else the emulator, as `arch`. A platform's name takes its device `index`, else the first of `arch`, else
/// the first.
///
/// Throws Error: bad_usage for a name, an index or an architecture that does not exist; unsupported where the
/// platform is not built in, has no device, or its device is of another architecture.
DeviceChoice choose_device(const std::string& device, const std::optional<std::string>& arch,
                           const std::vector<Platform>& platforms);

/// Throws Error where --emulator-stats cannot be had of that device: bad_usage where it is not the emulator,
/// unsupported where this program's emulator does not see accesses.
void check_emulator_stats(const DeviceChoice& choice);

}  // namespace fmha_bwd
