// Each kernel family on each architecture of the emulator, verified: whether an architecture's path still
// computes the right numbers, without the card.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/program.h"
#include "src/terminal.h"

namespace fmha_bwd {

enum class EmulatedVerdict { passed, wrong, refused, stopped };

/// "passed", "wrong", "refused" (by the family) or "stopped" (by the device).
std::string_view name_of(EmulatedVerdict verdict);

struct EmulatedRun {
  std::string arch;
  std::string family;
  EmulatedVerdict verdict = EmulatedVerdict::refused;
  std::string detail;   // one line: which masks, or why not
  std::string command;  // the shortest that does it again
};

struct EmulatedChoice {
  std::vector<std::string> words;     // of a run: its problem, inputs and verification
  std::optional<std::string> arch;    // nothing: all
  std::optional<std::string> family;  // nothing: all
};

/// One run for each architecture and family, each under all masks that the family supports, against the CPU's
/// are no options of such a run.
std::vector<EmulatedRun> run_emulated(const EmulatedChoice& choice, const Console& console,
                                      bool show_progress, const Decorate& decorate);

}  // namespace fmha_bwd
