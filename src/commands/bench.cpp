#include "src/commands/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bench/alike.h"
#include "bench/compare.h"
#include "bench/results_json.h"
#include "src/bench/bench_options.h"
#include "src/bench/engine.h"
#include "src/bench/plan.h"
#include "src/bench/store.h"
#include "src/options/values.h"
#include "src/report/bench_table.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

ExitCode list(const std::vector<PlannedCase>& planned, const Console& console) {
  std::string text;
  for (const PlannedCase& one : planned) text += one.item.name + "\n";
  print(console, text);
  return ExitCode::passed;
}

/// What the results say without a comparison: the worst of the cases' codes, where a case that is not
/// supported counts only if nothing ran.
ExitCode code_of(const BenchResults& results) {
  const auto any = [&](ExitCode code) {
    return std::any_of(results.cases.begin(), results.cases.end(),
                       [&](const BenchCase& item) { return item.exit_code == static_cast<int>(code); });
  };
  if (any(ExitCode::wrong_numbers)) return ExitCode::wrong_numbers;
  if (any(ExitCode::device_error)) return ExitCode::device_error;
  const bool measured = std::any_of(results.cases.begin(), results.cases.end(),
                                    [](const BenchCase& item) { return !item.rounds.empty(); });
  return measured ? ExitCode::passed : ExitCode::unsupported;
}

void check_outputs(const BenchOptions& options) {
  for (const auto* file : {&options.output, &options.junit, &options.markdown}) {
    if (*file && **file != "-") check_writable(**file);
  }
}

ExitCode measure(const BenchOptions& options, const std::vector<PlannedCase>& planned, const Console& console,
                 const Decorate& decorate) {
  Engine engine(options, planned, console, decorate);
  const bool to_stdout = options.output == "-";
  ResultsStore store(engine.context(), planned, to_stdout ? std::nullopt : options.output);
  if (options.resume) store.resume();
  if (!options.quiet && !engine.watches() && !options.on_cpu()) {
    console.err << fmt::format("clock, power and throttling are not watched: {}\n",
                               engine.context().telemetry);
  }
  engine.run(store, options.rounds);
  store.save();
  if (to_stdout) print(console, results_text(store.results()));
  if (!to_stdout && !options.quiet) print(console, bench_table(store.results(), console.out_colour));
  return code_of(store.results());
}

}  // namespace

ExitCode bench_command(const std::vector<std::string>& words, const Console& console,
                       const Decorate& decorate) {
  const BenchOptions options = bench_options(words);
  if (options.help) {
    print(console, bench_help());
    return ExitCode::passed;
  }
  const std::vector<PlannedCase> planned =
      cases_of(plan_cases(options.lines, options.on_cpu()), options.shard);
  if (options.list) return list(planned, console);
  check_outputs(options);
  return measure(options, planned, console, decorate);
}

}  // namespace fmha_bwd
