// The command line of `fmha_bwd bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "kernels/backend.h"
#include "src/bench/plan.h"
#include "src/gate.h"

namespace fmha_bwd {

struct BenchOptions {
  std::vector<SweepLine> lines;       // what is to be measured
  std::optional<std::string> filter;  // a regular expression for cases' names, "-" before it inverts it
  std::string device = "auto";        // as a run's, or cpu, or PLATFORM:all
  CacheState cache = CacheState::rotate;
  std::int64_t rounds = 9;              // of each case
  std::optional<std::int64_t> samples;  // of each kind in a round; nothing: the stopping rule
  double min_seconds = 0.5;             // device time of a case, over its rounds
  double max_seconds = 9.0;             // of a case, over its rounds
  double warmup_seconds = 0.1;          // before each round
  Shard shard;
  bool resume = false;
  std::optional<std::string> output;  // a results file; "-" is stdout
  std::optional<std::string> baseline;
  std::optional<std::string> other_binary;  // of --ab
  GateArguments gate;
  bool list = false;
  bool quiet = false;
  bool help = false;
  std::vector<std::string> google;           // --benchmark_..., for Google Benchmark
  std::optional<std::string> google_output;  // its --benchmark_out
  bool google_prints = false;                // its --benchmark_format on stdout, in place of the table
  std::vector<std::string> given;            // the words as they were given

  bool on_cpu() const { return device == "cpu"; }
  bool several_devices() const;
  /// Whether Google Benchmark visits the cases in random order.
  bool interleaved() const;
  SamplerSettings sampler() const;
};

/// Reads the words after "bench". What is no option of bench itself belongs to the sweep. Throws Error
/// (bad_usage).
BenchOptions bench_options(const std::vector<std::string>& words);

std::string bench_help();

/// "rotate", "flush" or "warm".
std::string_view name_of(CacheState cache);

}  // namespace fmha_bwd
