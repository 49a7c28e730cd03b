#include "src/commands/arch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/arch/arch_report.h"
#include "src/options.h"
#include "src/options/cli.h"
#include "src/options/values.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

constexpr std::string_view kDescription =
    "Lists what each kernel in this program needs on each architecture: registers, spills, memory, "
    "occupancy\n"
    "and the matrix instructions of its main loop, as the code objects say that were linked. So a "
    "regression\n"
    "on an architecture is seen without the card. With --device emulator it also runs every kernel family "
    "on\n"
    "every architecture of the emulator and compares it with the fp64 reference.\n";

constexpr std::string_view kFooter =
    R"(With --device emulator the options of a run (fmha_bwd --help) that say its problem, masks, inputs and
verification may follow; without them it is the default problem under three masks, which takes seconds.
The family plain computes --dtype fp32 alone.

Examples:
  fmha_bwd arch --arch sm_90a --family hopper
      the kernels of one family on one architecture
  fmha_bwd arch --format json --output before.json
  fmha_bwd arch --baseline before.json
      what a change of the kernels, or a new compiler, did to them
  fmha_bwd arch --quiet --device emulator --seqlen-q 64 --mask bottom_right
      whether every family is right on every architecture

Exit codes:
  0  passed
  1  a family computed wrong numbers in the emulator
  2  bad usage or input
  3  nothing to list, compare or run; or kernels of the baseline that this program knows nothing of
  4  with --baseline: a kernel spills more, or has fewer waves or matrix instructions in its loop; other
     changes, kernels that are new or gone, and architectures of one side alone are shown and pass
  6  device or runtime error)";

struct ArchOptions {
  ResourceFilter filter;
  std::optional<std::string> device;
  Format format = Format::table;
  std::optional<std::string> output;
  std::optional<std::string> baseline;
  bool quiet = false;
  bool help = false;
  std::vector<std::string> run_words;
};

/// The command line; `text` is what its options were given.
struct ArchCommandLine {
  ArchOptions options;
  std::optional<std::string> format;
  CLI::App app{std::string(kDescription), "fmha_bwd arch"};

  ArchCommandLine() {
    set_manners(app);
    app.footer(std::string(kFooter));
    const auto option = [this](const char* name, const char* type, std::optional<std::string>& value,
                               const char* description) {
      app.add_option(name, value, description)->type_name(type);
    };
    option("--platform", "NAME", options.filter.platform, "only amd, nvidia or emulator");
    option("--arch", "NAME", options.filter.arch, "only this architecture, such as gfx942 or sm_90");
    option("--family", "NAME", options.filter.family, "only this kernel family; - is none of them");
    option("--kernel", "TEXT", options.filter.kernel, "only kernels whose name contains this");
    option("--baseline", "FILE", options.baseline,
           "what changed since `arch --format json` wrote FILE, instead of the list");
    option("--device", "NAME", options.device, "emulator: run every family there too");
    option("--format", "NAME", format, "table, json or csv [table]");
    option("--output", "FILE", options.output, "instead of stdout");
    app.add_flag("--quiet", options.quiet, "a table of one line for each architecture, and of what is wrong");
    app.add_flag("--help,-h", options.help, "this text");
  }
};

ArchOptions options_from(ArchCommandLine& command_line, const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 3> kFormats = {"table", "json", "csv"};
  ArchOptions& options = command_line.options;
  options.run_words = parse_words(command_line.app, words);
  if (options.help) return options;
  if (options.device) {
    static_cast<void>(one_of("--device", *options.device, std::array<std::string_view, 1>{"emulator"}));
  } else {
    refuse_extras(options.run_words);
  }
  if (command_line.format) {
    options.format = static_cast<Format>(one_of("--format", *command_line.format, kFormats));
  }
  if (options.format == Format::csv && (options.device || options.baseline)) {
    refuse("--format", fmt::format("csv has the list of kernels alone; allowed without {}",
                                   options.device ? "--device" : "--baseline"));
  }
  for (const auto& [name, value] :
       {std::pair("--platform", &options.filter.platform), std::pair("--arch", &options.filter.arch),
        std::pair("--family", &options.filter.family), std::pair("--kernel", &options.filter.kernel),
        std::pair("--baseline", &options.baseline), std::pair("--output", &options.output)}) {
    if (*value) require_value(name, **value);
  }
  if (options.output == "-") options.output.reset();
  return options;
}

std::string text_of(const ArchReport& report, const ArchOptions& options, bool colour) {
  switch (options.format) {
    case Format::table:
      return arch_text(report, options.quiet, colour);
    case Format::json:
      return arch_json(report);
    case Format::csv:
      return arch_csv(report.table);
  }
  return "";
}

bool any_is(const std::vector<EmulatedRun>& runs, EmulatedVerdict verdict) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const EmulatedRun& run) { return run.verdict == verdict; });
}

/// Why there is no kernel in the part of `table` that was asked for.
std::string why_no_kernel(const ResourceTable& asked_for, const ResourceTable& table) {
  for (const CodePlatform& platform : asked_for.platforms) {
    if (platform.name == "emulator" || !platform.missing) continue;
    return fmt::format("arch: nothing is known of the kernels of {}: {}", platform.name, *platform.missing);
  }
  return table.kernels.empty() ? "arch: no GPU platform is built in, so there is no kernel to list"
                               : "arch: no kernel is of what was asked for";
}

/// What the report says of the kernels of `table`. Throws Error (unsupported) where it says nothing.
ExitCode verdict_of(const ArchReport& report, const ResourceTable& table) {
  if (report.runs) {
    if (any_is(*report.runs, EmulatedVerdict::wrong)) return ExitCode::wrong_numbers;
    if (any_is(*report.runs, EmulatedVerdict::stopped)) return ExitCode::device_error;
  }
  if (report.changes && report.changes->worse()) return ExitCode::regression;
  if (report.changes && !report.changes->unknown.empty()) {
    throw Error(ExitCode::unsupported,
                fmt::format("arch: not compared with the baseline: {}", report.changes->unknown.front()));
  }
  if (report.changes && report.changes->compared == 0) {
    throw Error(ExitCode::unsupported, "arch: nothing was compared with the baseline");
  }
  if (report.runs && !any_is(*report.runs, EmulatedVerdict::passed)) {
    throw Error(ExitCode::unsupported, "arch: no family ran in the emulator");
  }
  if (!report.runs && report.table.kernels.empty()) {
    throw Error(ExitCode::unsupported, why_no_kernel(report.table, table));
  }
  return ExitCode::passed;
}

}  // namespace

ExitCode arch_command_of(const ResourceTable& table, const std::vector<std::string>& words,
                         const Console& console, const Decorate& decorate) {
  ArchCommandLine command_line;
  const ArchOptions options = options_from(command_line, words);
  if (options.help) {
    print(console, help_of(command_line.app));
    return ExitCode::passed;
  }
  if (options.output) check_writable(*options.output);

  ArchReport report{.table = filtered(table, options.filter), .changes = {}, .runs = {}};
  if (options.baseline) {
    const ResourceTable before = read_resources(*options.baseline, "--baseline");
    report.changes = changes_between(filtered(before, options.filter), report.table);
  }
  if (options.device) {
    const bool show_progress = console.err_is_terminal && !options.quiet;
    report.runs = run_emulated({options.run_words, options.filter.arch, options.filter.family}, console,
                               show_progress, decorate);
  }
  const std::string text = text_of(report, options, console.out_colour && !options.output);
  if (options.output) {
    write_file(*options.output, text);
  } else {
    print(console, text);
  }
  return verdict_of(report, table);
}

ExitCode arch_command(const std::vector<std::string>& words, const Console& console,
                      const Decorate& decorate) {
  return arch_command_of(built_resources(platforms()), words, console, decorate);
}

}  // namespace fmha_bwd
