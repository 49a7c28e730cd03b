#include "tests/kernels/platform/emulator/hiprand_kernels.h"

#include <hiprand/hiprand_kernel.h>

namespace fmha_bwd::test_kernels {

__global__ void draw(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t offset, bool at_once,
                     unsigned* out) {
  hiprandStatePhilox4_32_10_t state;
  hiprand_init(seed, subsequence, offset + threadIdx.x, &state);
  unsigned* const words = out + 4 * threadIdx.x;
  if (at_once) {
    const uint4 quad = hiprand4(&state);
    words[0] = quad.x;
    words[1] = quad.y;
    words[2] = quad.z;
    words[3] = quad.w;
  } else {
    for (int i = 0; i < 4; ++i) words[i] = hiprand(&state);
  }
}

}  // namespace fmha_bwd::test_kernels
