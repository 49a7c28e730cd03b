// fmha_bwd report.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "src/program.h"
#include "src/terminal.h"

namespace fmha_bwd {

/// Does what the words after "report" ask for; `report --help` explains them. Throws Error.
ExitCode report_command(const std::vector<std::string>& words, const Console& console,
                        const Decorate& decorate);

}  // namespace fmha_bwd
