// The errors that end a run, each with the exit code it stands for.
#pragma once

#include <stdexcept>
#include <string>

namespace fmha_bwd {

enum class ExitCode : int {
  passed = 0,
  wrong_numbers = 1,
  bad_usage = 2,
  unsupported = 3,
  regression = 4,
  unclear = 5,
  device_error = 6,
};

/// An error whose message is one clear line for the user.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace fmha_bwd
