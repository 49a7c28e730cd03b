// fmha_bwd arch.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "src/arch/resources.h"
#include "src/program.h"
#include "src/terminal.h"

namespace fmha_bwd {

/// Does what the words after "arch" ask for; `arch --help` explains them. Throws Error.
ExitCode arch_command(const std::vector<std::string>& words, const Console& console,
                      const Decorate& decorate);

/// The same of a program whose kernels need what `table` says.
ExitCode arch_command_of(const ResourceTable& table, const std::vector<std::string>& words,
                         const Console& console, const Decorate& decorate);

}  // namespace fmha_bwd
