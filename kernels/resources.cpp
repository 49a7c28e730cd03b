#include "kernels/resources.h"

namespace fmha_bwd {

std::vector<std::string_view> kernel_resources() {
  return {
#ifdef FMHA_BWD_AMD_ARCHITECTURES
#include "amd.inc"
#endif
#ifdef FMHA_BWD_NVIDIA_ARCHITECTURES
#include "nvidia.inc"
#endif
  };
}

}  // namespace fmha_bwd
