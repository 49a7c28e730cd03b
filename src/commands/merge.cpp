#include "src/commands/merge.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "bench/merge.h"
#include "bench/results_json.h"
#include "src/options/cli.h"
#include "src/options/values.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

constexpr const char* kDescription =
    "Joins results files of fmha_bwd bench, those of a sweep's shards say.\n";

constexpr const char* kFooter =
    R"(The files have to be of one program, one kind of device and the same settings. Their cases
are put in the sweep's order. The same case may be in several files only where it is the
same in every number.

Exit codes, the first that applies:
  1  a case failed its verification
  2  bad usage or input, or files that are not parts of one run; nothing is written
  6  a case ended in a device or runtime error, or the result could not be written
  3  no case is supported, or there is none
  0  otherwise)";

struct Arguments {
  std::vector<std::string> files;
  std::optional<std::string> output;
  bool help = false;
};

void declare(CLI::App& app, Arguments& a) {
  set_manners(app);
  app.footer(kFooter);
  app.add_option("FILES", a.files, "results files")->type_name("FILE")->take_all();
  app.add_option("--output", a.output, "where the joined results go [stdout]")->type_name("FILE");
  app.add_flag("-h,--help", a.help, "this text")->disable_flag_override();
}

/// What is missing to a whole sweep, a line each.
std::vector<std::string> gaps_in(const BenchResults& results) {
  std::vector<std::string> gaps;
  std::int64_t next = 0;
  for (const BenchCase& item : results.cases) {
    if (item.index > next) gaps.push_back(fmt::format("no file has the case before {}", item.name));
    next = item.index + 1;
    const auto rounds = static_cast<std::int64_t>(item.rounds.size());
    if (item.error.empty() && rounds < results.context.rounds) {
      gaps.push_back(fmt::format("{} has {} of {} rounds", item.name, rounds, results.context.rounds));
    }
  }
  return gaps;
}

}  // namespace

ExitCode merge_command(const std::vector<std::string>& words, const Console& console,
                       const Decorate& /*decorate*/) {
  Arguments arguments;
  CLI::App app(kDescription, "fmha_bwd merge");
  declare(app, arguments);
  const std::vector<std::string> extras = parse_words(app, words);
  if (arguments.help) {
    print(console, help_of(app));
    return ExitCode::passed;
  }
  refuse_extras(extras);
  if (arguments.files.empty()) refuse("merge", "needs results files; see --help");
  if (arguments.output) require_value("--output", *arguments.output);
  if (arguments.output == "-") arguments.output.reset();
  std::vector<NamedResults> parts;
  for (const std::string& file : arguments.files) parts.push_back({file, read_results(file, "FILES")});
  const BenchResults whole = merge(parts);
  const std::string text = results_text(whole);
  if (!arguments.output) {
    print(console, text);
  } else {
    write_file(*arguments.output, text);
    console.err << fmt::format("{} cases of {} files in {}\n", whole.cases.size(), parts.size(),
                               *arguments.output);
  }
  const ExitCode code = exit_code_of(whole);
  const std::vector<std::string> gaps = gaps_in(whole);
  for (const std::string& gap : gaps) print_error(console, gap);
  return code == ExitCode::passed && !gaps.empty() ? ExitCode::unclear : code;
}

}  // namespace fmha_bwd
