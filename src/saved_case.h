// A folder with all tensors of one mask's run, for other programs to look at and for --load.
#pragma once

#include <string>

#include "kernels/backend.h"
#include "reference/verify.h"
#include "src/options.h"
#include "src/outputs.h"

namespace fmha_bwd {

/// The inputs that are on the device, which elements dropout keeps, the outputs, those of the reference
/// (rounded to fp32) where there is one, and case.txt; named as src/files/workspace.h says. What
/// the folder has of such files is removed first, and nothing else. `option` begins the message of an Error
/// (device_error), where writing fails.
void save_case(const std::string& folder, const Options& options, const MaskSpec& mask, Session& session,
               const Outputs& outputs, const Reference* reference, const std::string& option);

}  // namespace fmha_bwd
