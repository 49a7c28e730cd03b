// The hopper family: the tensor cores and the bulk copy engine of sm_90a.
#pragma once

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

const Family& family();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
