// The architecture of the current device.
#pragma once

#include <hip/hip_runtime.h>

#include <map>
#include <mutex>
#include <string>

#include "kernels/device_arch.h"
#include "kernels/hip_check.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// "gfx90a"; asked for once a device. Throws Error (device_error).
inline const std::string& current_arch() {
  static std::mutex mutex;
  static std::map<int, std::string> known;
  int device = 0;
  FMHA_BWD_HIP(hipGetDevice(&device));
  const std::lock_guard lock(mutex);
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  hipDeviceProp_t properties = {};
  FMHA_BWD_HIP(hipGetDeviceProperties(&properties, device));
  return known.emplace(device, arch_of(properties)).first->second;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
