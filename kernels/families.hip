// The registry of this platform's kernel families.
#include <array>

#include "kernels/cdna/cdna.h"
#include "kernels/family.h"
#include "kernels/mma/mma.h"
#include "kernels/plain/plain.h"
#include "kernels/rdna/rdna.h"
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
#ifndef __CUDACC__
      &cdna::family(), &rdna::family(),
#endif
#ifndef __HIP__
      &mma::family(),
#endif
      &simt::family(),
      // The last, so that it is never the choice where simt takes everything.
      &plain::family()});
  return kFamilies;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
