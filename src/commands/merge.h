// fmha_bwd merge.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "src/program.h"
#include "src/terminal.h"

namespace fmha_bwd {

/// Does what the words after "merge" ask for; `merge --help` explains them. Throws Error.
ExitCode merge_command(const std::vector<std::string>& words, const Console& console,
                       const Decorate& decorate);

}  // namespace fmha_bwd
