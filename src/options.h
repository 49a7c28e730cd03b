// The command line: what the user asks for, and the shortest way to ask for it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mask.h"
#include "base/problem.h"

namespace fmha_bwd {

enum class Format { table, json, csv };

struct Options {
  Problem problem;
  std::vector<MaskKind> masks = {kAllMaskKinds.begin(),
                                 kAllMaskKinds.end()};  // in the order given, each once
  Fill fill;
  std::string device = "auto";         // as choose_device reads it
  std::optional<std::string> arch;     // nothing: what the device is
  std::string kernel = "auto";         // auto, list, or a family's name
  std::optional<std::int64_t> warmup;  // passes before the timed ones, >= 0; nothing: the run decides
  std::optional<std::int64_t> repeat;  // timed passes, >= 1; nothing: the run decides
  bool verify = true;
  Format format = Format::table;
  std::optional<std::string> output;  // a file's path; nothing: stdout
  bool quiet = false;
  bool verbose = false;
};

/// --device taken apart.
struct DeviceRequest {
  std::string platform;      // auto, emulator, amd or nvidia
  std::optional<int> index;  // among the platform's devices; nothing: the first that will do
};

/// `device` is auto, or emulator, amd or nvidia with an optional ":index". Throws Error (bad_usage)
/// otherwise.
DeviceRequest device_request(const std::string& device);

enum class Request { run, list_kernels, help, version };

struct CommandLine {
  Request request = Request::run;
  Options options;
};

/// Reads the arguments after argv[0]. Throws Error (bad_usage) whose message is one line that names option,
/// value and what is allowed.
CommandLine parse_command_line(int argc, const char* const* argv);

/// What --help prints.
std::string help_text();

/// The shortest command line that computes the result of `mask` again: only what differs from the defaults,
/// quoted for a POSIX shell. How the result is shown (--format, --output, --quiet, --verbose) is left out.
std::string reproducing_command(const Options& options, MaskKind mask);

}  // namespace fmha_bwd
