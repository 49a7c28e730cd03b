// The family rdna: matrix kernels by WMMA.
#include "kernels/rdna/rdna.h"

#include "kernels/device_arch.h"
#include "kernels/matrix/family.h"
#include "kernels/rdna/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna {

matrix::Launches Traits::launches() {
  int device = 0;
  hipDeviceProp_t properties = {};
  FMHA_BWD_HIP(hipGetDevice(&device));
  FMHA_BWD_HIP(hipGetDeviceProperties(&properties, device));
  const bool gfx12 = arch_of(properties).substr(0, 5) == "gfx12";
  return gfx12 ? matrix::launches_of<Of<true>>() : matrix::launches_of<Of<false>>();
}

const Family& family() {
  static const matrix::MatrixFamily<Traits> rdna;
  return rdna;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna
