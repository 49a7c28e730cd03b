#include "src/commands/report.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "bench/results_json.h"
#include "src/options/cli.h"
#include "src/options/values.h"
#include "src/report/bench/bench_report.h"
#include "src/report/bench/markdown.h"
#include "src/report/bench/page.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

constexpr std::array<std::string_view, 2> kFormats = {"html", "markdown"};

struct Words {
  std::vector<std::string> files;
  std::string baseline;
  std::string title;
  std::string format = "html";
  std::string output;
  bool help = false;
};

void declare(CLI::App& app, Words& words) {
  app.add_option("-o,--output", words.output, "the report; - is stdout")->type_name("FILE");
  app.add_option("--format", words.format, "html, one page that needs no network, or markdown")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--baseline", words.baseline, "results of bench to compare each case with")
      ->type_name("FILE");
  app.add_option("--title", words.title, "of the report; default: its devices")->type_name("TEXT");
  app.add_flag("-h,--help", words.help, "shows this");
}

void check(const Words& words) {
  if (words.files.empty()) refuse("FILES", "none given; results files of fmha_bwd bench are wanted");
  for (const std::string& file : words.files) {
    if (file.starts_with('-')) refuse(file, "no such option; see --help");
  }
  if (words.output.empty()) refuse("--output", "no file given; - is stdout");
}

NamedRun run_in(const std::string& file, const std::string& option) {
  return {"", file, read_results(file, option)};
}

BenchReport report_of(const Words& words) {
  BenchReport report;
  report.title = words.title;
  for (const std::string& file : words.files) report.runs.push_back(run_in(file, "FILES"));
  if (!words.baseline.empty()) report.baseline = run_in(words.baseline, "--baseline");
  add_labels(report);
  report.compared = beside_baseline(report);
  return report;
}

}  // namespace

ExitCode report_command(const std::vector<std::string>& words, const Console& console,
                        const Decorate& /*decorate*/) {
  CLI::App app("Makes a page of results files of fmha_bwd bench, whose cases it shows together.",
               "fmha_bwd report FILES... --output FILE");
  set_manners(app);
  Words given;
  declare(app, given);
  given.files = parse_words(app, words);
  if (given.help) {
    print(console, help_of(app));
    return ExitCode::passed;
  }
  const bool markdown = one_of("--format", given.format, kFormats) == 1;
  check(given);
  const BenchReport report = report_of(given);
  const std::string text = markdown ? markdown_of(report) : page_of(report);
  if (given.output == "-") {
    print(console, text);
  } else {
    write_file(given.output, text);
  }
  return ExitCode::passed;
}

}  // namespace fmha_bwd
