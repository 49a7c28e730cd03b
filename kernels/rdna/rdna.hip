// The family rdna: matrix kernels by WMMA.
#include "kernels/rdna/rdna.h"

#include "kernels/matrix/family.h"
#include "kernels/rdna/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna {

template <>
matrix::Launches Of<false>::launches() {
  return matrix::launches_of<Of<false>>();
}
template <>
matrix::Launches Of<true>::launches() {
  return matrix::launches_of<Of<true>>();
}

const Family& family() {
  static const matrix::MatrixFamily<Traits> rdna;
  return rdna;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna
