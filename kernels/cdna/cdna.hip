// The family cdna: matrix kernels by MFMA.
#include "kernels/cdna/cdna.h"

#include "kernels/cdna/ds_bound.h"
#include "kernels/cdna/sizes.h"
#include "kernels/current_arch.h"
#include "kernels/matrix/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

matrix::Launches Traits::launches() { return matrix::launches_of<Traits>(); }

std::size_t Traits::scratch_bytes(const Problem& problem) {
  return problem.dtype == DType::fp16 && current_arch() == "gfx90a" ? kNormsBytes : 0;
}

void Traits::prepare(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) {
  if (scratch_bytes(problem) == 0) return;
  launch_ds_bound(problem, tensors, static_cast<float*>(tensors.scratch), stream);
}

const Family& family() {
  static const matrix::MatrixFamily<Traits> cdna;
  return cdna;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
