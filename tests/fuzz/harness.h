// What the harnesses share: an input is taken or refused by an Error of one line, nothing else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fmha_bwd {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "the harness found: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

/// Whether `action` runs to its end; where it does not, it has to throw Error (bad_usage) with a message of
/// one line.
template <class Action>
bool takes(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(error.code() == ExitCode::bad_usage, "an exit code that is not bad_usage");
    require(!message.empty(), "an empty message");
    require(message.find('\n') == std::string_view::npos, "a message of several lines");
    return false;
  }
  return true;
}

}  // namespace fmha_bwd
