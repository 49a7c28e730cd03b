// One run: every mask of a problem on one device, verified, then timed.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "kernels/backend.h"
#include "src/options.h"
#include "src/progress.h"

namespace fmha_bwd {

struct RunOutcome {
  RunResult result;
  std::optional<Error> unsaved;  // why a folder could not be written once all was computed
};

/// Draws (or loads) the inputs and, for each mask, runs forward and backward of the kernel that supports it
/// into poisoned outputs, verifies all outputs against the CPU's fp64 reference, compares repeated passes
/// where that was asked for, saves what was asked for, and times the backward where all passed (or where the
/// user asked for no verification). `device_reason` says why `backend` was chosen.
///
/// Throws Error: unsupported where no kernel takes the problem under one of the masks; device_error where the
/// device fails or a folder cannot be written, which is tried before the run; bad_usage where a tensor cannot
/// be loaded, or where verification finds that the problem's type cannot hold the results; wrong_numbers
/// where the device drew other inputs than the CPU.
RunOutcome run(const Options& options, Backend& backend, const std::string& device_reason,
               Progress& progress);

}  // namespace fmha_bwd
