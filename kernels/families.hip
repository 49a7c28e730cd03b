// The registry of this platform's kernel families.
#include <array>

#include "kernels/family.h"
#include "kernels/plain/plain.h"
#include "kernels/simt/simt.h"
#ifdef FMHA_BWD_HAS_HOPPER
#include "kernels/hopper/hopper.h"
#endif

namespace fmha_bwd::FMHA_BWD_PLATFORM {

std::span<const Family* const> families() {
  static const std::array kFamilies = std::to_array<const Family*>({
#ifdef FMHA_BWD_HAS_HOPPER
      &hopper::family(),
#endif
      &simt::family(),
      // The last, so that it is never the choice where simt takes everything.
      &plain::family()});
  return kFamilies;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
