// The family mma: see mma.hip.
#pragma once

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::mma {

const Family& family();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::mma
