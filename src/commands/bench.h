// fmha_bwd bench.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "src/program.h"
#include "src/terminal.h"

namespace fmha_bwd {

/// Does what the words after "bench" ask for; `bench --help` explains them. Throws Error.
ExitCode bench_command(const std::vector<std::string>& words, const Console& console,
                       const Decorate& decorate);

}  // namespace fmha_bwd
