// Many random problems, each verified.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "kernels/backend.h"
#include "src/options.h"
#include "src/progress.h"
#include "src/terminal.h"

namespace fmha_bwd {

/// Draws options.random problems from options.fill.seed and runs each as `run` does, without timing it; a
/// deterministic one is also run twice and compared bit by bit. Prints how often each feature and each kernel
/// came up; at the first failure a smaller failing problem, its report and the command that computes it
/// again. Problems that options.kernel refuses are counted and left out.
///
/// Returns passed; wrong_numbers at a failure, which a fault that the emulator finds in a kernel is too;
/// unsupported where the kernel refused all. Throws Error as `run` does; device_error, which names the
/// problem and its command, where a GPU or the memory gives out.
ExitCode run_random(const Options& options, Backend& backend, const std::string& device_reason,
                    const Console& console);

}  // namespace fmha_bwd
