// Kernels of the project without one of their barriers or waits.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace fmha_bwd {

/// Where a barrier or a wait is in the sources.
struct SourceLine {
  std::string file;  // its end is enough
  int line = 0;

  bool is_at(const char* where, int at_line) const {
    return line == at_line && std::string(where).ends_with(file);
  }
  auto operator<=>(const SourceLine&) const = default;
};

/// The one that is left out; line 0: none is.
extern SourceLine left_out;

/// Whether the one there is left out. Each lane that reaches it asks.
bool is_left_out(const char* file, int line);

/// What lanes reach while `run` runs, with the files as the compiler names them.
std::set<SourceLine> reached_by(const std::function<void()>& run);

/// Lines of `folder` + `file` that have `text`.
std::vector<SourceLine> lines_with(const std::string& text, const std::string& folder,
                                   const std::string& file);

}  // namespace fmha_bwd
