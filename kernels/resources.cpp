#include "kernels/resources.h"

namespace fmha_bwd {

std::vector<std::string_view> kernel_resources() {
  return {
#include "code_objects.inc"
  };
}

}  // namespace fmha_bwd
