// The whole program, run in this process.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "src/program.h"

namespace fmha_bwd {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

/// What `fmha_bwd ARGUMENTS...` does where nothing is a terminal.
inline Outcome run_with(const std::vector<std::string>& arguments, const Decorate& decorate = {}) {
  std::vector<const char*> argv = {"fmha_bwd"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out;
  std::ostringstream err;
  const Console console{out, err};
  const int exit_code = run_program(static_cast<int>(argv.size()), argv.data(), console, decorate);
  return {exit_code, out.str(), err.str()};
}

}  // namespace fmha_bwd
