#include "src/commands/command.h"

#include <algorithm>
#include <array>

#include "src/commands/arch.h"
#include "src/commands/bench.h"
#include "src/commands/compare.h"
#include "src/commands/merge.h"
#include "src/commands/report.h"

namespace fmha_bwd {
namespace {

constexpr std::array<Command, 5> kCommands = {{
    {"bench", "times many cases in rounds, and compares them with a baseline", bench_command},
    {"compare", "compares two results files of bench: which cases are slower", compare_command},
    {"merge", "joins results files, of shards say", merge_command},
    {"report", "makes a page of results files", report_command},
    {"arch", "lists the architectures and kernels built in, and what they need", arch_command},
}};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* command_named(std::string_view name) {
  const auto* found = std::find_if(kCommands.begin(), kCommands.end(),
                                   [&](const Command& command) { return command.name == name; });
  return found == kCommands.end() ? nullptr : found;
}

}  // namespace fmha_bwd
