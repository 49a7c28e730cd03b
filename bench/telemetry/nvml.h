// NVIDIA GPUs, watched through NVML, which comes with the driver.
#pragma once

#include <string>

#include "bench/telemetry/device_watch.h"

namespace fmha_bwd {

/// As open_device_watch, of an NVIDIA GPU.
OpenedWatch open_nvml(const std::string& pci_bus_id, const std::string& library);

}  // namespace fmha_bwd
