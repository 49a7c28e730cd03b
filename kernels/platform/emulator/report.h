// Words for what a kernel did wrong.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/platform/emulator/lane.h"
#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {

/// "lanes 0-31 wait in __syncthreads at kernels/x.hip:12; lane 32 has ended".
std::string who_waits_where(std::span<const Lane> lanes);

/// Lines that say where in the kernels' sources the program's instruction before `code` stands, the innermost
/// function first, then those that it is inlined into. By binutils' addr2line; where that is not installed,
/// where in the program's file the instruction is.
std::string source_of(const void* code);

/// Where in the kernels' sources an instruction stands.
struct SourceLine {
  std::string function;   // without its parameters
  std::string line;       // "kernels/x.hip:12"
  std::string outermost;  // the function that it is inlined into
};

/// Of the instruction before each of `codes`, all in one run of addr2line for each of the program's files. Of
/// an instruction that it does not know, `line` says where in the file it is, and there are no functions.
std::vector<SourceLine> source_lines(std::span<const void* const> codes);

/// The function at `code`, without its parameters; `otherwise` where addr2line does not know.
std::string function_name(const void* code, const std::string& otherwise);

/// A failed launch of `kernel` on `architecture`.
std::string report(const std::string& kernel, const std::string& architecture, const Failure& failure);

}  // namespace hip_emulator
