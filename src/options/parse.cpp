// From arguments to options.
#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "src/files/case_file.h"
#include "src/files/whole_file.h"
#include "src/files/workspace.h"
#include "src/options.h"
#include "src/options/arguments.h"
#include "src/options/cli.h"
#include "src/options/effect.h"
#include "src/options/loaded.h"
#include "src/options/problem.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kMaxPasses = 1'000'000;
constexpr std::int64_t kMaxRandom = 1'000'000'000;
constexpr std::int64_t kMaxSampleRows = 1'000'000'000;
constexpr int kMaxDeviceIndex = 1023;
constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::string_view, 3> kFormats = {"table", "json", "csv"};
constexpr std::array<std::string_view, 2> kReference = {"cpu", "device"};
constexpr std::array<std::string_view, 2> kFillDO = {"fill", "ones"};
constexpr std::array<std::string_view, 5> kFills = {"normal", "uniform", "integers", "zeros", "extreme"};

std::vector<MaskSpec> masks_of(const std::vector<std::string>& lists, const Problem& problem) {
  std::vector<MaskSpec> masks;
  for (const std::string& list : lists) {
    require_value("--mask", list);
    for (MaskSpec& mask : masks_from(list)) {
      if (std::find(masks.begin(), masks.end(), mask) == masks.end()) masks.push_back(std::move(mask));
    }
  }
  const std::int64_t longest = std::max(problem.seqlen_q, problem.seqlen_k);
  for (const MaskSpec& mask : masks) {
    if (mask.document_ends.empty() || mask.document_ends.back() <= longest) continue;
    refuse("--mask", fmt::format("'{}' has {} tokens; allowed is up to {}, the longest sequence's",
                                 name_of(mask), mask.document_ends.back(), longest));
  }
  return masks;
}

Fill fill_from(const Arguments& arguments) {
  Fill fill;
  if (arguments.fill) fill.kind = *fill_kind_named(kFills.at(one_of("--fill", *arguments.fill, kFills)));
  if (arguments.fill_do) fill.d_o_is_one = one_of("--fill-do", *arguments.fill_do, kFillDO) == 1;
  if (arguments.seed) fill.seed = whole_number<std::uint64_t>("--seed", *arguments.seed, 0, kMaxSeed);
  if (!arguments.std) return fill;
  fill.standard_deviation = finite_number("--std", *arguments.std);
  if (!(fill.standard_deviation > 0.0F)) refuse("--std", fmt::format("{} is not positive", *arguments.std));
  if (fill.kind != FillKind::normal) {
    refuse("--std", fmt::format("{} has no meaning with --fill {}; allowed is --fill normal", *arguments.std,
                                name_of(fill.kind)));
  }
  return fill;
}

std::string name_from(std::string_view option, const std::string& text) {
  require_value(option, text);
  return text;
}

void set_verify(Options& options, const std::string& text) {
  constexpr std::string_view kSample = "sample:";
  require_value("--verify", text);
  if (text.starts_with(kSample)) {
    const std::string rows = text.substr(kSample.size());
    if (rows.empty()) refuse("--verify", fmt::format("'{}' has no number of rows after its colon", text));
    options.verify = VerifyHow::sample;
    options.sample_rows = whole_number<std::int64_t>("--verify", rows, 1, kMaxSampleRows);
  } else if (text == "full" || text == "sample" || text == "none") {
    options.verify = text == "full"     ? VerifyHow::full
                     : text == "sample" ? VerifyHow::sample
                                        : VerifyHow::none;
  } else {
    refuse("--verify", fmt::format("'{}' is not allowed; one of full, sample[:ROWS], none", text));
  }
}

void set_run(Options& options, const Arguments& arguments) {
  if (arguments.device) {
    static_cast<void>(device_request(*arguments.device));
    options.device = *arguments.device;
  }
  if (arguments.arch) options.arch = name_from("--arch", *arguments.arch);
  if (arguments.kernel) options.kernel = name_from("--kernel", *arguments.kernel);
  if (arguments.verify) set_verify(options, *arguments.verify);
  if (arguments.reference) {
    options.reference = static_cast<ReferenceOn>(one_of("--reference", *arguments.reference, kReference));
  }
  const auto set = [](std::optional<std::int64_t>& field, const char* option, const Arguments::Value& text,
                      std::int64_t least, std::int64_t most) {
    if (text) field = whole_number<std::int64_t>(option, *text, least, most);
  };
  set(options.check_determinism, "--check-determinism", arguments.check_determinism, 2, kMaxPasses);
  set(options.warmup, "--warmup", arguments.warmup, 0, kMaxPasses);
  set(options.repeat, "--repeat", arguments.repeat, 1, kMaxPasses);
  set(options.random, "--random", arguments.random, 1, kMaxRandom);
  options.emulator_stats = arguments.emulator_stats;
}

void set_report(Options& options, const Arguments& arguments) {
  if (arguments.format) options.format = static_cast<Format>(one_of("--format", *arguments.format, kFormats));
  if (arguments.output && *arguments.output != "-") {
    options.output = name_from("--output", *arguments.output);
  }
  if (arguments.save) options.save = name_from("--save", *arguments.save);
  if (arguments.save_on_failure) {
    options.save_on_failure = name_from("--save-on-failure", *arguments.save_on_failure);
  }
  options.quiet = arguments.quiet;
  options.verbose = arguments.verbose;
  if (options.quiet && options.verbose) refuse("--quiet", "not allowed together with --verbose");
  if (options.save && options.masks.size() != 1) {
    refuse("--save", fmt::format("holds the tensors of one mask; allowed with one --mask, not {}",
                                 options.masks.size()));
  }
}

Options options_from(const Arguments& arguments) {
  refuse_what_the_request_ignores(arguments);
  Options options;
  options.problem = problem_from(arguments);
  options.load = arguments.load;
  if (options.load && !arguments.bias && !has_case(*options.load)) {
    options.problem.bias = loaded_bias_shape(*options.load, options.problem, "--load");
    if (const auto complaint = complaint_about(options.problem)) {
      throw Error(ExitCode::bad_usage, *complaint);
    }
  }
  if (!arguments.masks.empty()) options.masks = masks_of(arguments.masks, options.problem);
  options.fill = fill_from(arguments);
  set_run(options, arguments);
  set_report(options, arguments);
  if (options.load) options.all_loaded = has_all_inputs(*options.load, options.problem);
  refuse_what_has_no_effect(arguments, options);
  return options;
}

/// options_from; where a value of the case file is wrong, the complaint says so.
Options options_of(const Arguments& arguments) {
  try {
    return options_from(arguments);
  } catch (const Error& error) {
    const std::string complaint = error.what();
    const std::string option = complaint.substr(0, complaint.find(':'));
    if (!contains(arguments.in_case, option) || contains(arguments.given, option)) throw;
    refuse(place_text("--load", case_file(*arguments.load)), complaint);
  }
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
  const Arguments arguments = arguments_of({argv + std::min(argc, 1), argv + argc});
  if (arguments.help) return {Request::help, {}};
  if (arguments.version) return {Request::version, {}};
  CommandLine command_line{Request::run, options_of(arguments)};
  if (arguments.extra) refuse_extras({*arguments.extra});
  if (command_line.options.random) command_line.request = Request::random;
  if (command_line.options.kernel == "list") command_line.request = Request::list_kernels;
  return command_line;
}

}  // namespace fmha_bwd
