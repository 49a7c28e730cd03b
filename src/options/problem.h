// The options that make the problem.
#pragma once

#include "base/problem.h"
#include "src/options/arguments.h"

namespace fmha_bwd {

/// Whether the arguments ask for sequences of lengths of their own: by --mode, or by a list of lengths.
bool is_grouped(const Arguments& arguments);

/// Throws Error (bad_usage) for a value that is not allowed, and where complaint_about has one.
Problem problem_from(const Arguments& arguments);

}  // namespace fmha_bwd
