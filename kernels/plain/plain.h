// The plain family: attention as the formulas of reference/attention.h say it, in fp32 and sums of fixed
// order. It shares no kernel code with the other families, so that it can judge them.
#pragma once

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::plain {

const Family& family();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::plain
