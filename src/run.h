// One run: every mask of a problem on one device, verified, then timed.
#pragma once

#include <string>

#include "base/result.h"
#include "kernels/backend.h"
#include "src/options.h"
#include "src/progress.h"

namespace fmha_bwd {

/// Draws the inputs once and, for each mask, runs forward and backward into poisoned outputs, verifies O,
/// LSE, D, dQ, dK and dV against the CPU's fp64 reference, and times the backward where all passed (or where
/// the user asked for no verification). `device_reason` says why `backend` was chosen.
///
/// Throws Error: unsupported where no kernel takes the problem; device_error where the device fails;
/// wrong_numbers where the device drew other inputs than the CPU.
RunResult run(const Options& options, Backend& backend, const std::string& device_reason, Progress& progress);

}  // namespace fmha_bwd
