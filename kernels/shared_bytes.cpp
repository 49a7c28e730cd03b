// Prints the dynamic shared memory of each kernel on matrix cores: what its launch asks for, which no code
// object tells. A line a kernel, in CSV: how the architectures' names begin, family, kernel, bytes; kernels
// are named as scripts/kernel_resources.py does it. It is for scripts/kernel_budget.py.
#include <cstdio>

#include "kernels/cdna/sizes.h"
#include "kernels/hopper/shared_bytes.h"
#include "kernels/matrix/forward.h"
#include "kernels/mma/sizes.h"
#include "kernels/rdna/sizes.h"

namespace {

using namespace fmha_bwd;
namespace kernels = fmha_bwd::FMHA_BWD_PLATFORM;

/// The architectures and the family, type and head dimension of kernels.
struct Of {
  const char* architectures;
  const char* family;
  const char* type;
  int hdim;

  /// `last` and `more` follow the head dimension among the kernel's template arguments.
  void print(const char* kernel, const char* last, int bytes, const char* more = "") const {
    std::printf("%s,%s,\"%s<%s, %d%s%s>\",%d\n", architectures, family, kernel, type, hdim, last, more,
                bytes);
  }
};

template <class Traits, class T, int kHeadDim, bool kPlain>
void print_backward(const Of& of) {
  using B = typename Traits::template Backward<T, kHeadDim, kPlain>;
  const char* const plain = kPlain ? ", true" : ", false";
  of.print("dq_dk_dv_kernel", plain, B::kSharedBytes);
  of.print("convert_dq_kernel", plain, B::kQueryTileBytes);
}

template <class Traits, class T, int kHeadDim>
void print_matrix(const Of& of) {
  using Forward = kernels::matrix::Forward<typename Traits::template Unit<T>, kHeadDim>;
  of.print("forward_kernel", "", Forward::kSharedBytes);
  print_backward<Traits, T, kHeadDim, true>(of);
  print_backward<Traits, T, kHeadDim, false>(of);
}

template <class Traits, class T>
void print_matrix(const char* architectures, const char* family, const char* type) {
  print_matrix<Traits, T, 64>({architectures, family, type, 64});
  print_matrix<Traits, T, 128>({architectures, family, type, 128});
  print_matrix<Traits, T, 256>({architectures, family, type, 256});
}

template <class Traits>
void print_matrix(const char* architectures, const char* family) {
  print_matrix<Traits, Half>(architectures, family, "Half");
  print_matrix<Traits, Bfloat16>(architectures, family, "Bfloat16");
}

/// mma's kernels with roles.
template <class T>
void print_roles(const char* sizes_and_type) {
  using B = kernels::mma::RoleSizes::Backward<T, 128, true>;
  const Of of = {"sm_", "mma", sizes_and_type, 128};
  of.print("role_dq_dk_dv_kernel", "", kernels::mma::RoleMemory<B>::kBytes);
  of.print("convert_dq_kernel", ", true", B::kQueryTileBytes);
}

#ifdef FMHA_BWD_HAS_HOPPER
void print_hopper() {
  for (const char* const type : {"Half", "Bfloat16"}) {
    for (const int hdim : {64, 128, 192128, 192, 256}) {
      const Of of = {"sm_90", "hopper", type, hdim};
      if (hdim <= 128) of.print("forward_kernel", "", nvidia::hopper::forward_shared_bytes(hdim));
      for (const char* const grouped : {", false", ", true"}) {
        of.print("dot_do_o_kernel", grouped, 0);
        of.print("convert_dq_kernel", grouped, 0);
      }
      const int bytes = nvidia::hopper::dq_dk_dv_shared_bytes(hdim);
      for (const char* const mask :
           {", Staircase, false", ", Staircase, true", ", Mask, false", ", Mask, true"})
        of.print("dq_dk_dv_kernel", mask, bytes, ", 0u");
      for (const char* const features : {", 2u", ", 4u", ", 7u"}) {
        if (hdim <= 128) of.print("dq_dk_dv_kernel", ", Staircase, false", bytes, features);
      }
      if (hdim == 128) of.print("dq_dk_dv_kernel", ", Staircase, false", bytes, ", 1u");
    }
  }
}
#endif

}  // namespace

int main() {
  print_matrix<kernels::cdna::Traits>("gfx9", "cdna");
  std::puts("gfx,cdna,largest_norm_kernel,0");
  print_matrix<kernels::rdna::Of<false>>("gfx11", "rdna");
  print_matrix<kernels::rdna::Of<true>>("gfx12", "rdna");
  print_matrix<kernels::mma::Of<false>>("sm_", "mma");
  print_roles<Half>("RoleSizes, Half");
  print_roles<Bfloat16>("RoleSizes, Bfloat16");
#ifdef FMHA_BWD_HAS_HOPPER
  print_hopper();
#endif
  return 0;
}
