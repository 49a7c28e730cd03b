#include "bench/telemetry/device_watch.h"

#include <fmt/format.h>

#include "bench/telemetry/amd_smi.h"
#include "bench/telemetry/nvml.h"

namespace fmha_bwd {

OpenedWatch open_device_watch(std::string_view platform, const std::string& pci_bus_id,
                              const std::string& library) {
  if (platform == "nvidia") return open_nvml(pci_bus_id, library);
  if (platform == "amd") return open_amd_smi(pci_bus_id, library);
  return {nullptr, fmt::format("{}: has no clock, power or temperature to read", platform)};
}

}  // namespace fmha_bwd
