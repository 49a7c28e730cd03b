// Division that rounds up: how many tiles, blocks or cells hold so many rows.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fmha_bwd {

/// The least n with n * by >= x, for x >= 0 and by > 0.
FMHA_BWD_HOST_DEVICE constexpr std::int64_t divided_up(std::int64_t x, std::int64_t by) {
  return (x + by - 1) / by;
}

}  // namespace fmha_bwd
