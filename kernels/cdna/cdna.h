// The family cdna: see cdna.hip.
#pragma once

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna {

const Family& family();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::cdna
