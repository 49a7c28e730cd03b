// The whole program, callable from tests: parse -> plan -> run -> report.
#pragma once

#include <functional>
#include <memory>

#include "kernels/backend.h"
#include "src/terminal.h"

namespace fmha_bwd {

/// Puts something around the chosen device's backend; tests make faults with it.
using Decorate = std::function<std::unique_ptr<Backend>(std::unique_ptr<Backend>)>;

/// Does what the command line asks for and returns the exit code. Every error ends as one line on
/// console.err.
int run_program(int argc, const char* const* argv, const Console& console, const Decorate& decorate = {});

}  // namespace fmha_bwd
