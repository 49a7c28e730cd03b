// The results of bench as a table.
#pragma once

#include <string>

#include "bench/results.h"

namespace fmha_bwd {

/// Where it was measured, then a row a case: milliseconds, rates, clock, and what is to be said of it.
std::string run_table(const BenchResults& results, bool colour);

}  // namespace fmha_bwd
