#include "src/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/error.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kMaxPasses = 1'000'000;
constexpr int kMaxDeviceIndex = 1023;
constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::string_view, 3> kFormats = {"table", "json", "csv"};
constexpr std::array<std::string_view, 3> kDTypes = {"fp16", "bf16", "fp32"};
constexpr std::array<std::string_view, 2> kLayouts = {"bhsd", "bshd"};

/// The arguments as they were given.
struct Arguments {
  using Value = std::optional<std::string>;

  std::vector<std::string> masks;
  Value batch, nhead, nhead_k, seqlen_q, seqlen_k, hdim, hdim_v, dtype, scale, layout;
  Value seed, std;
  Value device, arch, kernel;
  Value verify, warmup, repeat;
  Value format, output;
  bool quiet = false;
  bool verbose = false;
  bool help = false;
  bool version = false;
};

constexpr std::string_view kDescription =
    "Runs the attention backward pass (dQ, dK, dV) on a device for each mask, compares it with an fp64\n"
    "reference and reports density, errors, norms and TFLOPS.\n";

constexpr std::string_view kFooter =
    R"(Examples:
  fmha_bwd
      the default problem with all three masks
  fmha_bwd --mask bottom_right --seqlen-q 128 --seqlen-k 192
      more keys than queries
  fmha_bwd --batch 4 --nhead 32 --nhead-k 8 --seqlen-q 4096 --seqlen-k 4096 --dtype bf16
      grouped-query attention
  fmha_bwd --device emulator --arch gfx942 --kernel list
      the kernels of an architecture, and why some are refused
  fmha_bwd --format json --output result.json
      for programs

Exit codes:
  0  passed                     4  performance regression
  1  wrong numbers              5  measurement unclear
  2  bad usage or input         6  device or runtime error
  3  unsupported, or nothing ran)";

/// Declares every option on `app`; parsing fills `arguments`.
void declare(CLI::App& app, Arguments& arguments) {
  app.set_help_flag();
  app.allow_extras();
  app.option_defaults()->take_last();
  app.get_formatter()->column_width(26);

  const auto option = [&app](const char* heading, const char* name, const char* type, auto& value,
                             const char* description) {
    app.add_option(name, value, description)->type_name(type)->group(heading);
  };

  const auto flag = [&app](const char* heading, const char* name, bool& value, const char* description) {
    app.add_flag(name, value, description)->group(heading)->disable_flag_override();
  };

  const char* group = "Problem";
  app.add_option(
         "--mask", arguments.masks,
         "no_mask, top_left, bottom_right; a comma-separated list, or\ngiven several times [all three]")
      ->type_name("LIST")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  option(group, "--batch", "N", arguments.batch, "sequences [2]");
  option(group, "--nhead", "N", arguments.nhead, "heads of Q [8]");
  option(group, "--nhead-k", "N", arguments.nhead_k, "heads of K and V, a divisor of --nhead [--nhead]");
  option(group, "--seqlen-q", "N", arguments.seqlen_q, "queries of a sequence [64]");
  option(group, "--seqlen-k", "N", arguments.seqlen_k, "keys of a sequence [64]");
  option(group, "--hdim", "N", arguments.hdim, "head dimension of Q and K, 1..256 [128]");
  option(group, "--hdim-v", "N", arguments.hdim_v, "head dimension of V and O, 1..256 [--hdim]");
  option(group, "--dtype", "TYPE", arguments.dtype, "fp16, bf16 or fp32 [fp16]");
  option(group, "--scale", "X", arguments.scale, "of the scores Q K^T [1/sqrt(hdim)]");
  option(group, "--layout", "NAME", arguments.layout,
         "bhsd or bshd: [batch, head, row, column] or [batch, row, head, column]\nin device memory; the "
         "numbers are the same [bhsd]");

  group = "Inputs";
  option(group, "--seed", "N", arguments.seed, "the same seed gives the same bits on every device [42]");
  option(group, "--std", "X", arguments.std, "standard deviation of Q, K, V and dO [0.1]");

  group = "Device";
  option(group, "--device", "NAME", arguments.device,
         "auto, emulator, amd[:index] or nvidia[:index]; auto takes a GPU when\none answers, else the "
         "emulator [auto]");
  option(group, "--arch", "NAME", arguments.arch,
         "architecture, such as gfx942 or sm_90: that the device must have, or\nthat the emulator takes");
  option(group, "--kernel", "NAME", arguments.kernel,
         "a kernel family; auto takes the fastest that supports the problem,\nlist shows all of them [auto]");

  group = "Run";
  option(group, "--verify", "HOW", arguments.verify, "full or none [full]");
  option(group, "--warmup", "N", arguments.warmup, "passes before the timed ones [10; on the emulator 0]");
  option(group, "--repeat", "N", arguments.repeat, "timed passes [30; on the emulator 1]");

  group = "Report";
  option(group, "--format", "NAME", arguments.format, "table, json or csv [table]");
  option(group, "--output", "FILE", arguments.output, "write the report there; - is stdout");
  flag(group, "--quiet", arguments.quiet, "one line a mask, no progress");
  flag(group, "--verbose", arguments.verbose, "every number in full, and the verdicts on O, LSE and D");

  group = "Program";
  flag(group, "--help,-h", arguments.help, "this text");
  flag(group, "--version", arguments.version, "the version, and the platforms and architectures built in");

  app.footer(std::string(kFooter));
}

[[noreturn]] void refuse(std::string_view option, const std::string& complaint) {
  throw Error(ExitCode::bad_usage, fmt::format("{}: {}", option, complaint));
}

/// Throws where `text` is plainly the next option, or nothing.
void require_value(std::string_view option, const std::string& text) {
  if (text.empty() || text.starts_with("--")) refuse(option, "no value given; see --help");
}

/// A whole number in [least, most].
template <class Integer>
Integer whole_number(std::string_view option, const std::string& text, Integer least, Integer most) {
  require_value(option, text);
  const std::string_view digits = std::string_view(text).substr(text.front() == '-' ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    refuse(option, fmt::format("'{}' is not a whole number", text));
  }
  Integer value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < least || value > most) {
    refuse(option, fmt::format("{} is not in {}..{}", text, least, most));
  }
  return value;
}

float finite_number(std::string_view option, const std::string& text) {
  require_value(option, text);
  float value = 0.0F;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) {
    refuse(option, fmt::format("'{}' is not a number", text));
  }
  if (error == std::errc::result_out_of_range) {
    refuse(option, fmt::format("{} is beyond the range of fp32", text));
  }
  if (!std::isfinite(value)) refuse(option, fmt::format("'{}' is not a finite number", text));
  return value;
}

float standard_deviation_from(const std::string& text) {
  const float value = finite_number("--std", text);
  if (!(value > 0.0F)) refuse("--std", fmt::format("{} is not positive", text));
  return value;
}

/// The index of `text` among `names`.
template <std::size_t N>
std::size_t one_of(std::string_view option, const std::string& text,
                   const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    refuse(option, fmt::format("'{}' is not allowed; one of {}", text, fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

/// The texts between commas.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = list.find(','); end != std::string::npos; end = list.find(',', begin)) {
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(list.substr(begin));
  return parts;
}

std::vector<MaskKind> masks_from(const std::vector<std::string>& lists) {
  std::array<std::string_view, kAllMaskKinds.size()> names;
  std::transform(kAllMaskKinds.begin(), kAllMaskKinds.end(), names.begin(),
                 [](MaskKind kind) { return name_of(kind); });

  std::vector<MaskKind> masks;
  for (const std::string& list : lists) {
    require_value("--mask", list);
    for (const std::string& name : parts_of(list)) {
      const MaskKind mask = kAllMaskKinds.at(one_of("--mask", name, names));
      if (std::find(masks.begin(), masks.end(), mask) == masks.end()) masks.push_back(mask);
    }
  }
  return masks;
}

Problem problem_from(const Arguments& arguments) {
  Problem problem;
  const auto set = [](std::int64_t& field, const char* option, const Arguments::Value& text,
                      std::int64_t most = kMaxExtent) {
    if (text) field = whole_number<std::int64_t>(option, *text, 1, most);
  };
  set(problem.batch, "--batch", arguments.batch);
  set(problem.nhead_q, "--nhead", arguments.nhead);
  problem.nhead_k = problem.nhead_q;
  set(problem.nhead_k, "--nhead-k", arguments.nhead_k);
  set(problem.seqlen_q, "--seqlen-q", arguments.seqlen_q);
  set(problem.seqlen_k, "--seqlen-k", arguments.seqlen_k);
  set(problem.hdim_q, "--hdim", arguments.hdim, kMaxHeadDim);
  problem.hdim_v = problem.hdim_q;
  set(problem.hdim_v, "--hdim-v", arguments.hdim_v, kMaxHeadDim);
  if (arguments.dtype) {
    problem.dtype = *dtype_named(kDTypes.at(one_of("--dtype", *arguments.dtype, kDTypes)));
  }
  problem.scale =
      arguments.scale ? finite_number("--scale", *arguments.scale) : default_scale(problem.hdim_q);
  if (arguments.layout) {
    problem.layout = *layout_named(kLayouts.at(one_of("--layout", *arguments.layout, kLayouts)));
  }
  if (const auto complaint = complaint_about(problem)) throw Error(ExitCode::bad_usage, *complaint);
  return problem;
}

std::string name_from(std::string_view option, const std::string& text) {
  require_value(option, text);
  return text;
}

Options options_from(const Arguments& arguments) {
  Options options;
  options.problem = problem_from(arguments);
  if (!arguments.masks.empty()) options.masks = masks_from(arguments.masks);
  if (arguments.seed) {
    options.fill.seed = whole_number<std::uint64_t>("--seed", *arguments.seed, 0, kMaxSeed);
  }
  if (arguments.std) options.fill.standard_deviation = standard_deviation_from(*arguments.std);
  if (arguments.device) {
    static_cast<void>(device_request(*arguments.device));
    options.device = *arguments.device;
  }
  if (arguments.arch) options.arch = name_from("--arch", *arguments.arch);
  if (arguments.kernel) options.kernel = name_from("--kernel", *arguments.kernel);
  if (arguments.warmup)
    options.warmup = whole_number<std::int64_t>("--warmup", *arguments.warmup, 0, kMaxPasses);
  if (arguments.repeat)
    options.repeat = whole_number<std::int64_t>("--repeat", *arguments.repeat, 1, kMaxPasses);
  if (arguments.verify) {
    options.verify =
        one_of("--verify", *arguments.verify, std::array<std::string_view, 2>{"full", "none"}) == 0;
  }
  if (arguments.format) options.format = static_cast<Format>(one_of("--format", *arguments.format, kFormats));
  if (arguments.output && *arguments.output != "-") {
    options.output = name_from("--output", *arguments.output);
  }
  options.quiet = arguments.quiet;
  options.verbose = arguments.verbose;
  if (options.quiet && options.verbose) refuse("--quiet", "not allowed together with --verbose");
  return options;
}

/// The first line of CLI11's complaint that names an option; its own messages are one line each.
std::string one_line(const CLI::ParseError& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::string shell_quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./:=,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

DeviceRequest device_request(const std::string& device) {
  require_value("--device", device);
  if (device == "auto") return {device, std::nullopt};
  const std::size_t colon = device.find(':');
  const std::string platform = device.substr(0, colon);
  if (platform != "emulator" && platform != "amd" && platform != "nvidia") {
    refuse("--device",
           fmt::format("'{}' is not allowed; one of auto, emulator, amd[:index], nvidia[:index]", device));
  }
  if (colon == std::string::npos) return {platform, std::nullopt};
  const std::string index = device.substr(colon + 1);
  if (index.empty()) refuse("--device", fmt::format("'{}' has no index after its colon", device));
  return {platform, whole_number<int>("--device", index, 0, kMaxDeviceIndex)};
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CLI::App app{std::string(kDescription), "fmha_bwd"};
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // begins with the option's name; with a flag's without its dashes
    const std::string name = text.substr(0, text.find_first_of(": "));
    if (!name.starts_with('-')) refuse("--" + name, "takes no value");
    refuse(name, "no value given; see --help");
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::bad_usage, one_line(error));
  }
  if (arguments.help) return {Request::help, {}};
  if (arguments.version) return {Request::version, {}};
  CommandLine command_line{Request::run, options_from(arguments)};
  for (const std::string& extra : app.remaining()) {
    if (extra == "--") continue;
    refuse(extra, extra.starts_with('-') ? "no such option; see --help"
                                         : "not an option; every value follows its option, see --help");
  }
  if (command_line.options.kernel == "list") command_line.request = Request::list_kernels;
  return command_line;
}

std::string help_text() {
  CLI::App app{std::string(kDescription), "fmha_bwd"};
  Arguments arguments;
  declare(app, arguments);
  return CLI::detail::find_and_replace(app.help(), "\n\n\n", "\n\n");
}

std::string reproducing_command(const Options& options, MaskKind mask) {
  const Options defaults;
  const Problem& problem = options.problem;
  std::string command = fmt::format("fmha_bwd --mask {}", name_of(mask));
  const auto add = [&command](const char* option, const auto& value, const auto& otherwise) {
    if (value != otherwise) command += fmt::format(" {} {}", option, value);
  };
  add("--batch", problem.batch, defaults.problem.batch);
  add("--nhead", problem.nhead_q, defaults.problem.nhead_q);
  add("--nhead-k", problem.nhead_k, problem.nhead_q);
  add("--seqlen-q", problem.seqlen_q, defaults.problem.seqlen_q);
  add("--seqlen-k", problem.seqlen_k, defaults.problem.seqlen_k);
  add("--hdim", problem.hdim_q, defaults.problem.hdim_q);
  add("--hdim-v", problem.hdim_v, problem.hdim_q);
  add("--dtype", name_of(problem.dtype), name_of(defaults.problem.dtype));
  add("--scale", problem.scale, default_scale(problem.hdim_q));
  add("--layout", name_of(problem.layout), name_of(defaults.problem.layout));
  add("--seed", options.fill.seed, defaults.fill.seed);
  add("--std", options.fill.standard_deviation, defaults.fill.standard_deviation);
  add("--device", shell_quoted(options.device), defaults.device);
  if (options.arch) command += " --arch " + shell_quoted(*options.arch);
  add("--kernel", shell_quoted(options.kernel), defaults.kernel);
  if (!options.verify) command += " --verify none";
  if (options.warmup) command += fmt::format(" --warmup {}", *options.warmup);
  if (options.repeat) command += fmt::format(" --repeat {}", *options.repeat);
  return command;
}

}  // namespace fmha_bwd
