// What a results file says of a case before it is measured.
#pragma once

#include "bench/results.h"
#include "src/bench/plan.h"

namespace fmha_bwd {

/// Of `options`' one mask. The name has what most cases differ in, and then every other option that is not at
/// its default, as "option:value":
///
///     no_mask/fp16/B2/H8/S64/D128      bottom_right/bf16/B1/H32:8/S128:192/D192:128/dropout:0.1
///
/// H, S and D have a second number for the keys' heads and length, and for hdim_v, where those differ. Of the
/// reference the name begins with "reference/", and the type is that of its arithmetic.
BenchCase case_of(Operation operation, const Options& options);

}  // namespace fmha_bwd
