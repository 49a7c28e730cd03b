// The family rdna: see rdna.hip.
#pragma once

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna {

const Family& family();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::rdna
