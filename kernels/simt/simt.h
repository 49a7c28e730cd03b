// The simt family: fp32 multiply-adds on every platform, for every problem.
#pragma once

#include "kernels/family.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::simt {

const Family& family();

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::simt
