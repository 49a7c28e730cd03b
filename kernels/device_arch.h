// The name of a device's architecture, as kernel families know it.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <string>

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// "sm_90" or "gfx942": without the features that HIP may append ("gfx942:sramecc+:xnack-").
inline std::string arch_of(const hipDeviceProp_t& properties) {
  const std::string arch = properties.gcnArchName;
  return arch.substr(0, arch.find(':'));
}

/// Bytes of the cache before the device's memory: `l2_bytes`, or AMD's Infinity Cache behind that, of which
/// the runtime does not tell (256 MiB on MI300 and MI350: AMD's CDNA 3 and 4 white papers).
inline std::int64_t last_level_cache_bytes(const std::string& arch, std::int64_t l2_bytes) {
  const bool has_infinity_cache = arch == "gfx942" || arch == "gfx950";
  return has_infinity_cache ? std::int64_t{256} << 20 : l2_bytes;
}

/// CUDA's 13000 is 13.0; HIP's 50230000 is 5.2.30000.
inline std::string runtime_version(int version) {
  const bool cuda = version < 1'000'000;
  const int major = cuda ? version / 1000 : version / 10'000'000;
  const int minor = cuda ? version % 1000 / 10 : version / 100'000 % 100;
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
