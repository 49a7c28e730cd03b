#include "tests/kernels/platform/emulator/matrix_mutant.h"

#include <hip/hip_runtime.h>
#include <matrix_core.h>

#include "base/mask_spec.h"
#include "tests/kernels/platform/emulator/mutation.h"

namespace fmha_bwd {

/// Stands for copy_async_wait there.
struct CopyAsyncWait {
  const char* file;
  int line;

  template <int kPending>
  [[gnu::always_inline]] void wait() const {
    if (!is_left_out(file, line)) ::hip_emulator::copy_async_wait<kPending>();
  }
};

}  // namespace fmha_bwd

#define __syncthreads() \
  (::fmha_bwd::is_left_out(__FILE__, __LINE__) ? void() : ::hip_emulator::__syncthreads(__FILE__, __LINE__))
#define copy_async_wait ::fmha_bwd::CopyAsyncWait{__FILE__, __LINE__}.template wait
#include "kernels/cdna/sizes.h"
#include "kernels/matrix/convert_dq.h"
#include "kernels/matrix/dq_dk_dv.h"
#include "kernels/matrix/forward.h"
#include "kernels/mma/role_dq_dk_dv.h"
#include "kernels/mma/sizes.h"
#include "kernels/rdna/sizes.h"

namespace fmha_bwd {
namespace emulator {
namespace {

template <class Traits, int kHeadDim>
struct Kernels {
  using B = typename Traits::template Backward<Half, kHeadDim, true>;
  using F = matrix::Forward<typename Traits::template Unit<Half>, kHeadDim>;

  static void forward(const Problem& p, const DeviceTensors& t) {
    matrix::launch(matrix::forward_kernel<Traits, Half, kHeadDim>, divided_up(p.seqlen_q, F::kM), F::kThreads,
                   F::kSharedBytes, nullptr, matrix::arguments_of<B>(p, kNoMask.rule(), t));
  }
  /// One workgroup has all tiles of keys.
  static void dq_dk_dv(const Problem& p, const DeviceTensors& t) {
    matrix::Arguments<Half> arguments = matrix::arguments_of<B>(p, kNoMask.rule(), t);
    arguments.slices = 1;
    arguments.slice = 1;  // floats; one block has all tiles
    matrix::launch(matrix::dq_dk_dv_kernel<Traits, Half, kHeadDim, true>, 1, B::kThreads, B::kSharedBytes,
                   nullptr, arguments);
  }
  static void role_dq_dk_dv(const Problem& p, const DeviceTensors& t) {
    matrix::Arguments<Half> arguments = matrix::arguments_of<B>(p, kNoMask.rule(), t);
    arguments.slices = 1;
    arguments.slice = 1;  // floats; one block has all tiles
    matrix::launch(mma::role_dq_dk_dv_kernel<Traits, Half, kHeadDim>, 1, B::kThreads,
                   mma::RoleMemory<B>::kBytes, nullptr, arguments);
  }
  static void convert_dq(const Problem& p, const DeviceTensors& t) {
    matrix::launch(matrix::convert_dq_kernel<Traits, Half, kHeadDim, true>, divided_up(p.seqlen_q, B::kM),
                   B::kThreads, B::kQueryTileBytes, nullptr, matrix::arguments_of<B>(p, kNoMask.rule(), t));
  }

  static Problem problem() {
    Problem problem;
    problem.batch = problem.nhead_q = problem.nhead_k = 1;
    problem.seqlen_q = 2 * B::kM + 2;
    problem.seqlen_k = 2 * B::kN;
    problem.hdim_q = problem.hdim_v = kHeadDim;
    return problem;
  }
  static void add_to(std::vector<MatrixKernel>& kernels, const char* arch) {
    const std::string where = std::string(" of hdim ") + std::to_string(kHeadDim) + " on " + arch;
    kernels.push_back({"forward" + where, arch, problem(), forward});
    kernels.push_back({"dq_dk_dv" + where, arch, problem(), dq_dk_dv});
    kernels.push_back({"convert_dq" + where, arch, problem(), convert_dq});
  }
};

}  // namespace
}  // namespace emulator

std::vector<MatrixKernel> matrix_kernels() {
  using namespace emulator;
  std::vector<MatrixKernel> kernels;
  Kernels<cdna::Traits, 64>::add_to(kernels, "gfx942");
  Kernels<cdna::Traits, 256>::add_to(kernels, "gfx942");
  using Scaled = Kernels<cdna::Traits, 64>;
  kernels.push_back({"dq_dk_dv of hdim 64 on gfx90a", "gfx90a", Scaled::problem(), Scaled::dq_dk_dv});
  Kernels<rdna::Of<false>, 64>::add_to(kernels, "gfx1100");
  Kernels<rdna::Of<false>, 256>::add_to(kernels, "gfx1100");
  Kernels<rdna::Of<true>, 64>::add_to(kernels, "gfx1201");
  Kernels<mma::Of<false>, 64>::add_to(kernels, "sm_80");
  Kernels<mma::Of<false>, 256>::add_to(kernels, "sm_80");
  using Roles = Kernels<mma::Of<true>, 128>;
  kernels.push_back({"role_dq_dk_dv of hdim 128", "sm_90a", Roles::problem(), Roles::role_dq_dk_dv});
  return kernels;
}

}  // namespace fmha_bwd
