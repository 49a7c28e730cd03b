// The family cdna: matrix kernels by MFMA.
#include "kernels/cdna/cdna.h"

#include "kernels/cdna/norms.h"
#include "kernels/cdna/sizes.h"
#include "kernels/current_arch.h"
#include "kernels/matrix/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

std::size_t Traits::scratch_bytes(const Problem& problem) {
  return problem.dtype == DType::fp16 && current_arch() == "gfx90a" ? matrix::kNorms * sizeof(float) : 0;
}

void Traits::prepare_forward(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) {
  if (scratch_bytes(problem) == 0) return;
  launch_norms(problem, tensors, false, static_cast<float*>(tensors.scratch), stream);
}

void Traits::prepare_backward(const Problem& problem, const DeviceTensors& tensors, hipStream_t stream) {
  if (scratch_bytes(problem) == 0) return;
  launch_norms(problem, tensors, true, static_cast<float*>(tensors.scratch), stream);
}

matrix::Launches Traits::launches() { return matrix::launches_of<Traits>(); }

const Family& family() {
  static const matrix::MatrixFamily<Traits> cdna;
  return cdna;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
