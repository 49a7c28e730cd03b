// The command line: what the user asks for, and the shortest way to ask for it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fill.h"
#include "base/mask_spec.h"
#include "base/problem.h"

namespace fmha_bwd {

enum class Format { table, json, csv };

/// What is compared with the reference: all, some rows of each output, or nothing. Automatic: all where that
/// does not take long, else some (src/verification_plan.h).
enum class VerifyHow { automatic, full, sample, none };

/// Whether the outputs are compared with the device's own fp32 reference too.
enum class ReferenceOn { cpu, device };

struct Options {
  Problem problem;
  std::vector<MaskSpec> masks = basic_masks();  // in the order given, each once
  Fill fill;
  std::optional<std::string> load;     // a folder whose tensors replace the drawn ones
  bool all_loaded = false;             // it has every input, so that `fill` says nothing
  std::string device = "auto";         // as choose_device reads it
  std::optional<std::string> arch;     // nothing: what the device is
  std::string kernel = "auto";         // auto, list, or a family's name
  std::optional<std::int64_t> warmup;  // passes before the timed ones, >= 0; nothing: the run decides
  std::optional<std::int64_t> repeat;  // timed passes, >= 1; nothing: the run decides
  std::optional<std::int64_t> check_determinism;  // passes that are compared bit by bit, >= 2
  std::optional<std::int64_t> random;             // how many problems to draw, instead of `problem`
  VerifyHow verify = VerifyHow::automatic;
  std::optional<std::int64_t> sample_rows;  // of a sample, >= 1; nothing: the run decides
  ReferenceOn reference = ReferenceOn::cpu;
  Format format = Format::table;
  std::optional<std::string> output;           // a file's path; nothing: stdout
  std::optional<std::string> save;             // a folder for all tensors of the one mask
  std::optional<std::string> save_on_failure;  // the same for the first mask that fails
  bool emulator_stats = false;                 // count the bank conflicts of shared memory
  bool quiet = false;
  bool verbose = false;

  bool verifies() const { return verify != VerifyHow::none; }
};

/// --device taken apart.
struct DeviceRequest {
  std::string platform;      // auto, emulator, amd or nvidia
  std::optional<int> index;  // among the platform's devices; nothing: the first that will do
};

/// `device` is auto, or emulator, amd or nvidia with an optional ":index". Throws Error (bad_usage)
/// otherwise.
DeviceRequest device_request(const std::string& device);

enum class Request { run, random, list_kernels, help, version };

struct CommandLine {
  Request request = Request::run;
  Options options;
};

/// Reads the arguments after argv[0]. With --load, the folder's case file stands before them, and where it
/// has none its tensors say what no option does of shape and type. Options that would have no effect are
/// refused. Throws Error (bad_usage) whose message is
/// one line that names option, value and what is allowed.
CommandLine parse_command_line(int argc, const char* const* argv);

/// What --help prints.
std::string help_text();

/// The fewest arguments that compute the result of `mask` again: only what differs from the defaults, or all
/// that a loaded folder could say otherwise. How the result is shown and kept (--format, --output, --save,
/// --save-on-failure, --quiet, --verbose) is left out.
std::vector<std::string> reproducing_arguments(const Options& options, const MaskSpec& mask);

/// Those after the program's name, quoted for a POSIX shell.
std::string reproducing_command(const Options& options, const MaskSpec& mask);

}  // namespace fmha_bwd
