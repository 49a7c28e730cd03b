// The family rdna: matrix kernels by WMMA.
#include "kernels/rdna/rdna.h"

#include "kernels/current_arch.h"
#include "kernels/matrix/family.h"
#include "kernels/rdna/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna {

matrix::Launches Traits::launches() {
  const bool gfx12 = current_arch().substr(0, 5) == "gfx12";
  return gfx12 ? matrix::launches_of<Of<true>>() : matrix::launches_of<Of<false>>();
}

const Family& family() {
  static const matrix::MatrixFamily<Traits> rdna;
  return rdna;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna
