// The Backend of a platform that has a HIP runtime. hip_backend.hip is compiled once a platform, each time in
// a namespace of its own; no HIP here.
#pragma once

#include <memory>

#include "kernels/backend.h"

#define FMHA_BWD_DECLARE_PLATFORM(platform)          \
  namespace fmha_bwd::platform {                     \
  std::vector<Device> devices(std::string& absence); \
  std::unique_ptr<Backend> open_backend(int index);  \
  }

/// devices() lists what answers now; where nothing does, `absence` says why. open_backend() opens one of
/// them.
FMHA_BWD_DECLARE_PLATFORM(emulator)
FMHA_BWD_DECLARE_PLATFORM(nvidia)
FMHA_BWD_DECLARE_PLATFORM(amd)

#undef FMHA_BWD_DECLARE_PLATFORM
