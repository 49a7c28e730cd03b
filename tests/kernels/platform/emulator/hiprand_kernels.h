// A kernel that draws with hipRAND's device API.
#pragma once

#include <cstdint>

#include "kernels/platform/emulator/hip/hip_runtime.h"

namespace fmha_bwd::test_kernels {

/// out[4 i + j] = word j of thread i, which starts at `offset` + i of the subsequence and draws four at once,
/// or one by one.
__global__ void draw(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t offset, bool at_once,
                     unsigned* out);

}  // namespace fmha_bwd::test_kernels
