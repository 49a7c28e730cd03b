// The gate as the command line asks for it: what `compare` and `bench --baseline` share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/compare.h"
#include "src/terminal.h"

namespace CLI {
class App;
}

namespace fmha_bwd {

/// Its options as they were given.
struct GateArguments {
  std::optional<std::string> max_slowdown, alpha, junit, markdown;
  bool allow_unlike = false;
  bool allow_missing = false;
};

/// --max-slowdown, --alpha, --allow-unlike, --allow-missing, --junit and --markdown, under the heading
/// "Gate".
void declare_gate(CLI::App& app, GateArguments& arguments);

/// Throws Error (bad_usage) for a value that is not allowed.
CompareSettings compare_settings(const GateArguments& arguments);

/// Throws Error (bad_usage) where two of the files are one; each comes with its option's name, and one that
/// is not there is nothing.
void require_distinct(const std::vector<std::pair<std::string, std::optional<std::string>>>& files);

/// Throws Error (bad_usage) that names what differs where times of the two runs are not comparable. With
/// `allow_unlike` console.err is told so instead.
void require_alike(const BenchResults& base, const BenchResults& latest, bool allow_unlike,
                   const Console& console);

}  // namespace fmha_bwd
