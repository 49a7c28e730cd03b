// Options that would have no effect beside the others are refused.
#pragma once

#include "src/options.h"
#include "src/options/arguments.h"

namespace fmha_bwd {

/// Throws Error (bad_usage) for an option on the command line that --random or --kernel list does not heed.
void refuse_what_the_request_ignores(const Arguments& arguments);

/// Throws Error (bad_usage) for an option on the command line that changes nothing in `options`, which were
/// made from the arguments.
void refuse_what_has_no_effect(const Arguments& arguments, const Options& options);

}  // namespace fmha_bwd
