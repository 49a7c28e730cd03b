// The commands of the program: a word before the options asks for something else than a run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "src/program.h"
#include "src/terminal.h"

namespace fmha_bwd {

struct Command {
  std::string_view name;
  std::string_view summary;  // one line of --help
  /// `words` are the arguments after the command's name. Throws Error.
  ExitCode (*run)(const std::vector<std::string>& words, const Console& console, const Decorate& decorate);
};

/// Every command, in the order that --help shows.
std::span<const Command> commands();

/// The command of that name; nullptr where there is none.
const Command* command_named(std::string_view name);

}  // namespace fmha_bwd
