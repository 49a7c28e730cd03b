#include "src/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "src/commands/command.h"
#include "src/device_choice.h"
#include "src/options.h"
#include "src/progress.h"
#include "src/random/random_run.h"
#include "src/report/columns.h"
#include "src/report/report.h"
#include "src/run.h"
#include "src/version.h"

namespace fmha_bwd {
namespace {

/// Where the run happens.
struct Plan {
  std::unique_ptr<Backend> backend;
  std::string device_reason;
};

Plan plan(const Options& options, const Decorate& decorate) {
  const DeviceChoice choice = choose_device(options.device, options.arch, platforms());
  if (options.emulator_stats) check_emulator_stats(choice);
  std::unique_ptr<Backend> backend = open_backend(choice.platform, choice.index);
  if (decorate) backend = decorate(std::move(backend));
  return {std::move(backend), choice.reason};
}

/// What each family says, and under which masks where that is not the same for all.
std::string kernel_list(const Backend& backend, const Options& options) {
  struct Answer {
    std::string text;
    std::vector<std::string> masks;
  };
  std::vector<std::pair<std::string, std::vector<Answer>>> families;  // the fastest first
  for (const MaskSpec& mask : options.masks) {
    const std::vector<KernelSupport> all = backend.kernels(options.problem, mask);
    families.resize(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      families[i].first = all[i].kernel;
      const std::string text = all[i].refusal.value_or("supported");
      std::vector<Answer>& answers = families[i].second;
      auto same = std::find_if(answers.begin(), answers.end(),
                               [&](const Answer& answer) { return answer.text == text; });
      if (same == answers.end()) same = answers.insert(answers.end(), {text, {}});
      same->masks.push_back(name_of(mask));
    }
  }
  Columns columns({{"kernel", Align::left}, {"for this problem", Align::left}});
  for (const auto& [kernel, answers] : families) {
    for (const Answer& answer : answers) {
      const std::string masks = answers.size() == 1 ? "" : fmt::format("{}: ", fmt::join(answer.masks, ", "));
      columns.add({{kernel}, {masks + answer.text}});
    }
  }
  const Device& device = backend.device();
  return fmt::format("{}:{}  {}  {}\n{}", device.platform, device.index, device.name, device.arch,
                     columns.text(false));
}

/// "bench  times many cases .." for each command.
std::string command_list() {
  std::string text = "\nCommands, in the place of the options (fmha_bwd COMMAND --help):\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {:<22}  {}\n", command.name, command.summary);
  }
  return text;
}

ExitCode run_and_report(const Options& options, const Plan& planned, const Console& console) {
  if (options.output) check_writable(*options.output);
  const bool show_progress = console.err_is_terminal && !options.quiet;
  const RunOutcome outcome = [&] {
    Progress progress({.out = show_progress ? &console.err : nullptr, .width = console.err_width});
    return run(options, *planned.backend, planned.device_reason, progress);
  }();
  write_report(outcome.result, options, console);
  if (outcome.unsaved) print_error(console, outcome.unsaved->what());
  if (!outcome.result.passed()) return ExitCode::wrong_numbers;
  return outcome.unsaved ? outcome.unsaved->code() : ExitCode::passed;
}

ExitCode obey(const CommandLine& command_line, const Console& console, const Decorate& decorate) {
  const Options& options = command_line.options;
  switch (command_line.request) {
    case Request::help:
      print(console, help_text() + command_list());
      return ExitCode::passed;
    case Request::version:
      print(console, version_text(platforms()));
      return ExitCode::passed;
    case Request::list_kernels:
      print(console, kernel_list(*plan(options, decorate).backend, options));
      return ExitCode::passed;
    case Request::random: {
      const Plan planned = plan(options, decorate);
      return run_random(options, *planned.backend, planned.device_reason, console);
    }
    case Request::run:
      return run_and_report(options, plan(options, decorate), console);
  }
  return ExitCode::bad_usage;
}

int failed(const Console& console, ExitCode code, std::string_view message) {
  print_error(console, message);
  return static_cast<int>(code);
}

}  // namespace

int run_program(int argc, const char* const* argv, const Console& console, const Decorate& decorate) {
  try {
    if (const Command* command = argc > 1 ? command_named(argv[1]) : nullptr) {
      return static_cast<int>(command->run({argv + 2, argv + argc}, console, decorate));
    }
    return static_cast<int>(obey(parse_command_line(argc, argv), console, decorate));
  } catch (const Error& error) {
    return failed(console, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(console, ExitCode::device_error, "out of host memory");
  } catch (const std::exception& error) {
    return failed(console, ExitCode::device_error, error.what());
  }
}

}  // namespace fmha_bwd
