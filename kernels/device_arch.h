// The name of a device's architecture, as kernel families know it.
#pragma once

#include <hip/hip_runtime.h>

#include <string>

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// "sm_90" or "gfx942": without the features that HIP may append ("gfx942:sramecc+:xnack-").
inline std::string arch_of(const hipDeviceProp_t& properties) {
  const std::string arch = properties.gcnArchName;
  return arch.substr(0, arch.find(':'));
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
