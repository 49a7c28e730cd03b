// The devices that kernel tests run on: two emulated architectures, of wave size 64 and 32, and every GPU
// here.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace fmha_bwd {

// GoogleTest prints parameters with it.
inline void PrintTo(const Device& device, std::ostream* out) {
  *out << device.platform << ':' << device.index << " (" << device.arch << ')';
}

inline std::vector<Device> devices_to_test() {
  std::vector<Device> all;
  for (const Platform& platform : platforms()) {
    for (const Device& device : platform.devices) {
      if (!device.emulated || device.arch == "gfx942" || device.arch == "sm_90a") all.push_back(device);
    }
  }
  return all;
}

inline std::string test_name(const testing::TestParamInfo<Device>& info) {
  return info.param.platform + "_" + info.param.arch + "_" + std::to_string(info.param.index);
}

}  // namespace fmha_bwd
