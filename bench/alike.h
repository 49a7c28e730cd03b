// Whether times of two runs may be compared.
#pragma once

#include <string>
#include <vector>

#include "bench/results.h"

namespace fmha_bwd {

/// What differs between two contexts and makes their times incomparable, a line each, like "driver: '535.1'
/// and '550.2'": platform, device, arch, driver, emulated, cache state, power cap and largest clock; where a
/// CPU computes (platform "cpu" or emulated) also its model and number. Not how long each was sampled.
std::vector<std::string> unlike_contexts(const BenchContext& one, const BenchContext& other);

/// What else has to be the same so that two files can be parts of one: program, revision, runtime and how
/// rounds were measured.
std::vector<std::string> unlike_settings(const BenchContext& one, const BenchContext& other);

/// unlike_contexts, and the fills and input checksums that differ in cases of the same name.
std::vector<std::string> unlike_results(const BenchResults& base, const BenchResults& latest);

}  // namespace fmha_bwd
