// What the emulator counts where a kernel accesses shared memory. Plain data, no behaviour.
#pragma once

#include <cstdint>
#include <string>

namespace fmha_bwd {

/// The accesses of one kind and width that a line of a kernel's source makes. An access is a wave's: that of
/// all its lanes that take part. Without conflicts it takes its `phases`, in cycles; `conflicts` are the
/// cycles more that it takes because lanes ask one bank for different words.
struct SharedAccessSite {
  std::string kernel;
  std::string function;  // that has the line, the innermost
  std::string line;      // "kernels/x.hip:12"
  std::string kind;      // "read", "write" or "atomic"
  std::int64_t bytes = 0;
  std::int64_t accesses = 0;
  std::int64_t phases = 0;
  std::int64_t conflicts = 0;

  bool operator==(const SharedAccessSite&) const = default;
};

}  // namespace fmha_bwd
