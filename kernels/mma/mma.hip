// The family mma: matrix kernels by mma.sync, for NVIDIA's sm_80 and later.
#include "kernels/mma/mma.h"

#include <charconv>

#include "kernels/matrix/family.h"
#include "kernels/mma/sizes.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::mma {
namespace {

/// 90 of "sm_90" and of "sm_90a"; 0 of others.
int number_of(std::string_view arch) {
  int number = 0;
  if (arch.substr(0, 3) != "sm_") return 0;
  std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

}  // namespace

bool Traits::takes(std::string_view arch) { return number_of(arch) >= 80; }

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
std::int64_t Traits::shared_bytes(std::string_view arch) {
  const int number = number_of(arch);
  const bool small = number == 86 || number == 89 || number >= 120;
  return (small ? 99 : number < 90 ? 163 : 227) * 1024;
}

template <>
matrix::Launches Of<false>::launches() {
  return matrix::launches_of<Of<false>>();
}
template <>
matrix::Launches Of<true>::launches() {
  using Others = matrix::Launcher<Of<false>>;
  using Own = matrix::Launcher<Of<true>>;
  return {Others::forward, Own::plain_dq_dk_dv, Others::scored_dq_dk_dv, Own::convert_dq};
}

const Family& family() {
  static const matrix::MatrixFamily<Traits> mma;
  return mma;
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::mma
