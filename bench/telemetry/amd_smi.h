// AMD GPUs, watched through AMD SMI, which comes with ROCm.
#pragma once

#include <string>

#include "bench/telemetry/device_watch.h"

namespace fmha_bwd {

/// As open_device_watch, of an AMD GPU. Tested against a stand-in for the library only: no AMD card was at
/// hand.
OpenedWatch open_amd_smi(const std::string& pci_bus_id, const std::string& library);

}  // namespace fmha_bwd
