// The family cdna: matrix kernels by MFMA.
#include "kernels/cdna/cdna.h"

#include "kernels/cdna/sizes.h"
#include "kernels/matrix/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

matrix::Launches Traits::launches() { return matrix::launches_of<Traits>(); }

const Family& family() {
  static const matrix::MatrixFamily<Traits> cdna;
  return cdna;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
