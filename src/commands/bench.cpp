#include "src/commands/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bench/compare.h"
#include "bench/merge.h"
#include "bench/results_json.h"
#include "src/bench/ab.h"
#include "src/bench/bench_options.h"
#include "src/bench/engine.h"
#include "src/bench/parallel.h"
#include "src/bench/plan.h"
#include "src/bench/store.h"
#include "src/options/arguments.h"
#include "src/report/bench/run_table.h"
#include "src/report/comparison.h"
#include "src/report/report.h"

namespace fmha_bwd {
namespace {

ExitCode list(const std::vector<PlannedCase>& planned, const Console& console) {
  std::string text;
  for (const PlannedCase& one : planned) text += one.item.name + "\n";
  print(console, text);
  return ExitCode::passed;
}

void check_outputs(const BenchOptions& options) {
  require_distinct({{"--baseline", options.baseline},
                    {"--output", options.output},
                    {"--junit", options.gate.junit},
                    {"--markdown", options.gate.markdown},
                    {"--benchmark_out", options.google_output}});
  for (const auto* file : {&options.output, &options.gate.junit, &options.gate.markdown}) {
    if (*file && **file != "-") check_writable(**file);
  }
  if (options.google_output) check_writable(*options.google_output, "--benchmark_out");
}

ComparisonReport comparison_report(const BenchOptions& options) {
  ComparisonReport report;
  report.junit = options.gate.junit;
  report.markdown = options.gate.markdown;
  report.quiet = options.quiet;
  return report;
}

/// The names of the cases whose verdict a second look may settle.
std::vector<std::string> unclear_cases(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const CaseComparison& item : comparison.cases) {
    if (item.verdict == CaseVerdict::unclear && item.effect) names.push_back(item.name);
  }
  return names;
}

bool needs_more(const std::vector<std::string>& names, const BenchOptions& options, const Console& console) {
  if (names.empty()) return false;
  if (!options.quiet) {
    console.err << fmt::format("{} of the cases unclear: measured again\n", names.size());
  }
  return true;
}

/// The worse of what the results say by themselves and of the comparison.
ExitCode worse(ExitCode own, ExitCode compared) { return own == ExitCode::passed ? compared : own; }

/// Where no table shows it.
void tell_first_error(const BenchResults& results, const Console& console) {
  const auto failed = std::find_if(results.cases.begin(), results.cases.end(),
                                   [](const BenchCase& item) { return !item.error.empty(); });
  if (failed != results.cases.end()) print_error(console, fmt::format("{}: {}", failed->name, failed->error));
}

void show(const BenchResults& results, const BenchOptions& options, const Console& console) {
  if (options.output == "-") return print(console, results_text(results));
  if (options.quiet) tell_first_error(results, console);
  if (!options.quiet && !options.google_prints) print(console, run_table(results, console.out_colour));
}

Progress::Settings progress_settings(const BenchOptions& options, const Console& console) {
  const bool shows = console.err_is_terminal && !options.quiet;
  return {.out = shows ? &console.err : nullptr, .width = console.err_width, .estimates = true};
}

ExitCode compare_in_rounds(const BenchOptions& options, const Console& console) {
  AbResults results;
  const CompareSettings settings = compare_settings(options.gate);
  const auto measure = [&](const std::vector<std::string>& only) {
    Progress progress(progress_settings(options, console));
    measure_ab(options, options.rounds, only, results, progress, [&] {
      if (!options.output) return;
      write_file(*options.output, results_text(results.latest));
      write_file(*options.output + ".base", results_text(results.base));
    });
  };
  measure({});
  require_alike(results.base, results.latest, options.gate.allow_unlike, console);
  Comparison comparison = compare(results.base, results.latest, settings);
  if (const auto unclear = unclear_cases(comparison); needs_more(unclear, options, console)) {
    measure(unclear);
    comparison = compare(results.base, results.latest, settings);
  }
  show(results.latest, options, console);
  return worse(exit_code_of(results.latest),
               report_comparison(comparison, comparison_report(options), console));
}

/// The baseline's cases that the filter leaves: others are not missing. Nothing without --baseline.
std::optional<BenchResults> baseline_of(const BenchOptions& options) {
  if (!options.baseline) return std::nullopt;
  BenchResults base = read_results(*options.baseline, "--baseline");
  if (options.filter) {
    std::erase_if(base.cases,
                  [&](const BenchCase& item) { return !name_matches(item.name, *options.filter); });
  }
  return base;
}

ExitCode measure_on_devices(const BenchOptions& options, const std::vector<PlannedCase>& planned,
                            const std::vector<std::string>& devices, const Console& console) {
  const std::optional<BenchResults> base = baseline_of(options);
  const BenchResults results = [&] {
    Progress progress(progress_settings(options, console));
    return measure_in_parallel(options, devices, planned.size(), progress);
  }();
  show(results, options, console);
  if (!base) return exit_code_of(results);
  require_alike(*base, results, options.gate.allow_unlike, console);
  const Comparison comparison = compare(*base, results, compare_settings(options.gate));
  return worse(exit_code_of(results), report_comparison(comparison, comparison_report(options), console));
}

ExitCode compare_with(const BenchResults& base, const BenchOptions& options, Engine& engine,
                      ResultsStore& store, const Console& console) {
  const CompareSettings settings = compare_settings(options.gate);
  require_alike(base, store.results(), options.gate.allow_unlike, console);
  Comparison comparison = compare(base, store.results(), settings);
  if (const auto unclear = unclear_cases(comparison); needs_more(unclear, options, console)) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < store.results().cases.size(); ++i) {
      if (contains(unclear, store.results().cases[i].name)) numbers.push_back(i);
    }
    Progress progress(progress_settings(options, console));
    engine.run(store, 2 * options.rounds, numbers, progress);
    comparison = compare(base, store.results(), settings);
  }
  return report_comparison(comparison, comparison_report(options), console);
}

ExitCode measure(const BenchOptions& options, const std::vector<PlannedCase>& planned, const Console& console,
                 const Decorate& decorate) {
  const std::optional<BenchResults> base = baseline_of(options);
  Engine engine(options, planned, decorate);
  if (base) {
    require_alike({base->context, {}}, {engine.context(), {}}, options.gate.allow_unlike, console);
  }
  const bool to_file = options.output && *options.output != "-";
  ResultsStore store(engine.context(), planned, to_file ? options.output : std::nullopt);
  if (options.resume) store.resume();
  if (!options.quiet && !engine.watches() && !options.on_cpu()) {
    console.err << fmt::format("clock, power and throttling are not watched: {}\n",
                               engine.context().telemetry);
  }
  {
    Progress progress(progress_settings(options, console));
    engine.run(store, options.rounds, {}, progress);
  }
  store.save();
  show(store.results(), options, console);
  const ExitCode own = exit_code_of(store.results());
  return base ? worse(own, compare_with(*base, options, engine, store, console)) : own;
}

/// A shard beyond the cases there are is no error: a matrix of jobs may be larger than its sweep.
ExitCode empty_shard(const BenchOptions& options, std::size_t all, const Console& console,
                     const Decorate& decorate) {
  if (!options.quiet) {
    console.err << fmt::format("shard {}/{} has none of the {} cases\n", options.shard.index,
                               options.shard.count, all);
  }
  const std::vector<PlannedCase> none;
  const Engine engine(options, none, decorate);
  const BenchResults nothing{engine.context(), {}};
  if (options.output == "-") print(console, results_text(nothing));
  if (options.output && *options.output != "-") write_file(*options.output, results_text(nothing));
  return ExitCode::passed;
}

}  // namespace

ExitCode bench_command(const std::vector<std::string>& words, const Console& console,
                       const Decorate& decorate) {
  const BenchOptions options = bench_options(words);
  if (options.help) {
    print(console, bench_help());
    return ExitCode::passed;
  }
  std::vector<PlannedCase> planned = plan_cases(options.lines, options.on_cpu());
  if (options.filter) planned = filtered(std::move(planned), *options.filter);
  if (planned.empty()) {
    throw Error(ExitCode::unsupported,
                options.filter ? fmt::format("nothing to run: no case matches '{}'", *options.filter)
                               : "nothing to run: the case files have no cases");
  }
  const std::size_t all = planned.size();
  planned = cases_of(std::move(planned), options.shard);
  if (options.list) return list(planned, console);
  check_outputs(options);
  if (planned.empty()) return empty_shard(options, all, console, decorate);
  if (options.other_binary) return compare_in_rounds(options, console);
  if (options.several_devices()) {
    return measure_on_devices(options, planned, devices_of(options.device, platforms()), console);
  }
  return measure(options, planned, console, decorate);
}

}  // namespace fmha_bwd
