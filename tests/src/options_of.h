// The options that a command line means.
#pragma once

#include <string>
#include <vector>

#include "src/options.h"

namespace fmha_bwd {

inline CommandLine parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fmha_bwd");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

inline Options options(const std::vector<std::string>& arguments) { return parse(arguments).options; }

}  // namespace fmha_bwd
