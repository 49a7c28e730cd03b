#include "src/commands/compare.h"

#include <CLI/CLI.hpp>
#include <array>
#include <string_view>

#include "bench/compare.h"
#include "bench/results_json.h"
#include "src/gate.h"
#include "src/options/cli.h"
#include "src/options/values.h"
#include "src/report/comparison.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"table", "json", "markdown", "junit"};

constexpr const char* kDescription =
    "Compares two results files of fmha_bwd bench, case by case: is NEW slower than BASE?\n";

constexpr const char* kFooter =
    R"(Verdicts, over the rounds of a case; at least 9 are needed on either side:
  slower    p < alpha by the one-sided Mann-Whitney test, Holm's correction over all
            cases made, and the 95% bootstrap interval of the ratio of the medians is
            wholly above 1 + max-slowdown
  faster    the mirror image
  same      the interval excludes a slowdown beyond max-slowdown
  unclear   none of these, or not measured well enough; the reason is named
  new       BASE does not have the case
  missing   NEW does not have the case

Exit codes, the first that applies:
  1  a case of NEW failed its verification
  2  bad usage or input, or times that are not comparable
  3  no case is in both files
  4  a case is slower
  5  a case is unclear, or missing without --allow-missing
  6  the report could not be written
  0  otherwise: faster and new cases never fail)";

struct Arguments {
  std::optional<std::string> base, latest, format, output;
  GateArguments gate;
  bool quiet = false;
  bool help = false;
};

void declare(CLI::App& app, Arguments& a) {
  set_manners(app);
  app.footer(kFooter);
  app.add_option("BASE", a.base, "the baseline's results")->type_name("FILE");
  app.add_option("NEW", a.latest, "the new results")->type_name("FILE");
  declare_gate(app, a.gate);
  const auto option = [&](const char* name, const char* type, std::optional<std::string>& value,
                          const char* description) {
    app.add_option(name, value, description)->type_name(type)->group("Report");
  };
  option("--format", "NAME", a.format, "table, json, markdown or junit [table]");
  option("--output", "FILE", a.output, "where the report goes [stdout]");
  app.add_flag("--quiet", a.quiet, "of the table only its last line, and nothing on stderr")
      ->group("Report")
      ->disable_flag_override();
  app.add_flag("-h,--help", a.help, "this text")->group("Other")->disable_flag_override();
}

ComparisonReport report_of(const Arguments& a) {
  ComparisonReport report;
  if (a.format) report.format = static_cast<ComparisonFormat>(one_of("--format", *a.format, kFormats));
  if (a.output) require_value("--output", *a.output);
  if (a.output != "-") report.output = a.output;
  report.junit = a.gate.junit;
  report.markdown = a.gate.markdown;
  report.quiet = a.quiet;
  return report;
}

}  // namespace

ExitCode compare_command(const std::vector<std::string>& words, const Console& console,
                         const Decorate& /*decorate*/) {
  Arguments arguments;
  CLI::App app(kDescription, "fmha_bwd compare");
  declare(app, arguments);
  const std::vector<std::string> extras = parse_words(app, words);
  if (arguments.help) {
    print(console, help_of(app));
    return ExitCode::passed;
  }
  if (!extras.empty() && arguments.latest && !extras.front().starts_with('-')) {
    refuse(extras.front(), "a third file; allowed are two, BASE and NEW");
  }
  refuse_extras(extras);
  if (!arguments.base || !arguments.latest)
    refuse("compare", "needs two results files, BASE and NEW; see --help");
  const CompareSettings settings = compare_settings(arguments.gate);
  const ComparisonReport report = report_of(arguments);
  require_distinct({{"BASE", arguments.base},
                    {"--output", report.output},
                    {"--junit", report.junit},
                    {"--markdown", report.markdown}});
  require_distinct({{"NEW", arguments.latest},
                    {"--output", report.output},
                    {"--junit", report.junit},
                    {"--markdown", report.markdown}});
  const BenchResults base = read_results(*arguments.base, "BASE");
  const BenchResults latest = read_results(*arguments.latest, "NEW");
  check_writable(report);
  require_alike(base, latest, arguments.gate.allow_unlike, console);
  return report_comparison(compare(base, latest, settings), report, console);
}

}  // namespace fmha_bwd
