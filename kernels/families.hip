// The registry of this platform's kernel families.
#include <array>

#include "kernels/family.h"
#include "kernels/simt/simt.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

std::span<const Family* const> families() {
  static const std::array<const Family*, 1> kFamilies = {&simt::family()};
  return kFamilies;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
