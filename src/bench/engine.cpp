#include "src/bench/engine.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "bench/telemetry/clock_watch.h"
#include "src/bench/case_run.h"
#include "src/bench/context.h"
#include "src/options/values.h"

namespace fmha_bwd {
namespace {

/// Google Benchmark wants one; the table is made of the results' file.
class Silent final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& /*runs*/) override {}
};

/// Hands the --benchmark_ options over; `again`: without an output, which would replace that of the run
/// before. Throws Error (bad_usage) for one that Google Benchmark leaves.
void initialize(const BenchOptions& options, bool again) {
  // Neither the environment nor an earlier run of this process says anything else.
  std::vector<std::string> words = {"--benchmark_enable_random_interleaving=true",
                                    "--benchmark_filter=.",
                                    "--benchmark_min_warmup_time=0",
                                    "--benchmark_format=console",
                                    "--benchmark_out=",
                                    "--benchmark_out_format=json",
                                    "--benchmark_time_unit=ms",
                                    "--benchmark_list_tests=false",
                                    "--benchmark_perf_counters="};
  words.insert(words.end(), options.google.begin(), options.google.end());
  if (again) words.push_back("--benchmark_out=");
  static std::array<char, 9> program = {"fmha_bwd"};  // Google Benchmark keeps the address
  std::vector<char*> argv = {program.data()};
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1) refuse(argv[1], "not an option of Google Benchmark, or not a value of it");
}

/// A repetition that failed. Google Benchmark wants as many iterations of it as of those that did not.
void skip(benchmark::State& state, const std::string& why) {
  for ([[maybe_unused]] const auto iteration : state) state.SetIterationTime(0.0);
  state.SkipWithError(why.c_str());
}

}  // namespace

class Engine::Implementation {
 public:
  Implementation(const BenchOptions& options, const std::vector<PlannedCase>& planned,
                 const Decorate& decorate)
      : options_(options), planned_(planned), runs_(options, decorate) {
    if (!options.on_cpu()) {
      Backend& backend =
          planned.empty() ? runs_.backend(options.device, std::nullopt) : runs_.backend_of(planned.front());
      const Device& device = backend.device();
      opened_ = open_device_watch(device.platform, device.pci);
      if (opened_.watch) watch_.emplace(*opened_.watch);
      context_ =
          context_of(options, &device, opened_.watch ? &opened_.watch->facts() : nullptr, opened_.absence);
    } else {
      context_ = context_of(options, nullptr, nullptr, "none on a CPU");
    }
    if (runs_.takes_turns()) context_.in_turn = kTurnVariable;
  }

  const BenchContext& context() const { return context_; }
  bool watches() const { return watch_.has_value(); }

  std::size_t run(ResultsStore& store, std::int64_t rounds, const std::vector<std::size_t>& only,
                  Progress& progress) {
    initialize(options_, again_);
    store_ = &store;
    rounds_ = rounds;
    const std::int64_t visits = register_cases(only);
    progress_ = &progress;
    progress.expect(visits);
    Silent silent;
    visits_ = 0;
    failure_ = nullptr;
    // Google Benchmark has its own reporter once a process.
    const bool prints = options_.google_prints && !again_;
    if (visits > 0) benchmark::RunSpecifiedBenchmarks(prints ? nullptr : &silent);
    again_ = true;
    benchmark::ClearRegisteredBenchmarks();
    progress_ = nullptr;
    if (failure_) std::rethrow_exception(failure_);
    if (options_.google_prints && !std::cout.flush()) {
      throw Error(ExitCode::device_error, "cannot write to stdout");
    }
    return visits_;
  }

 private:
  /// How many visits they are to have.
  std::int64_t register_cases(const std::vector<std::size_t>& only) {
    benchmark::ClearRegisteredBenchmarks();
    std::int64_t visits = 0;
    for (std::size_t number = 0; number < planned_.size(); ++number) {
      if (!only.empty() && std::find(only.begin(), only.end(), number) == only.end()) continue;
      const BenchCase& item = store_->results().cases.at(number);
      const std::int64_t missing = rounds_ - static_cast<std::int64_t>(item.rounds.size());
      if (missing <= 0 || !item.error.empty()) continue;
      benchmark::RegisterBenchmark(item.name.c_str(),
                                   [this, number](benchmark::State& state) { visit(number, state); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1)
          ->Repetitions(static_cast<int>(missing));
      visits += missing;
    }
    return visits;
  }

  /// One round. What goes wrong with the case is its error; what ends the run is kept until Google Benchmark
  /// is out of the way.
  void visit(std::size_t number, benchmark::State& state) {
    BenchCase& item = store_->item(number);
    progress_->step(item.name);
    if (failure_ || !item.error.empty()) {
      return skip(state, failure_ ? "not measured" : item.error);
    }
    ++visits_;
    try {
      measure(planned_[number], item);
      store_->save();
    } catch (...) {
      failure_ = std::current_exception();
      return skip(state, "not measured");
    }
    if (!item.error.empty()) return skip(state, item.error);
    report(item, state);
  }

  void measure(const PlannedCase& planned, BenchCase& item) {
    try {
      item.rounds.push_back(runs_.round(planned, item, watch_ ? &*watch_ : nullptr));
    } catch (const Error& error) {
      item.error = error.what();
      item.exit_code = static_cast<int>(error.code());
    } catch (const std::bad_alloc&) {
      item.error = "out of host memory";
      item.exit_code = static_cast<int>(ExitCode::device_error);
    }
    if (item.error.empty()) return;
    item.rounds.clear();
    runs_.close(item);
  }

  void report(const BenchCase& item, benchmark::State& state) const {
    const double milliseconds = time_of(item.rounds.back());
    const Rates rates = rates_of(item, context_, milliseconds);
    for ([[maybe_unused]] const auto iteration : state) state.SetIterationTime(milliseconds * 1e-3);
    state.counters["TFLOPS"] = rates.tflops;
    state.counters["GB/s"] = rates.gbytes_per_s;
    if (rates.peak) state.counters["peak_percent"] = *rates.peak * 100.0;
    if (rates.roofline) state.counters["roofline_percent"] = *rates.roofline * 100.0;
  }

  const BenchOptions& options_;
  const std::vector<PlannedCase>& planned_;
  CaseRuns runs_;
  OpenedWatch opened_;
  std::optional<ClockWatch> watch_;
  BenchContext context_;
  ResultsStore* store_ = nullptr;
  Progress* progress_ = nullptr;
  std::int64_t rounds_ = 0;
  std::size_t visits_ = 0;
  std::exception_ptr failure_;
  bool again_ = false;  // run() was called before
};

Engine::Engine(const BenchOptions& options, const std::vector<PlannedCase>& planned, const Decorate& decorate)
    : implementation_(std::make_unique<Implementation>(options, planned, decorate)) {}
Engine::~Engine() = default;

const BenchContext& Engine::context() const { return implementation_->context(); }

bool Engine::watches() const { return implementation_->watches(); }

std::size_t Engine::run(ResultsStore& store, std::int64_t rounds, const std::vector<std::size_t>& only,
                        Progress& progress) {
  return implementation_->run(store, rounds, only, progress);
}

}  // namespace fmha_bwd
