// Results that nobody measured, for the tests of what is done with results.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench/results.h"

namespace fmha_bwd {

/// A round of one batch sample.
inline Round round_of(double milliseconds) {
  Round round;
  round.single_ms = {milliseconds * 1.1};
  round.batch_ms = {milliseconds};
  round.batch_passes = 10;
  round.stopped = "fixed count";
  return round;
}

/// A case with a round for each time.
inline BenchCase case_of(const std::string& name, const std::vector<double>& times, std::int64_t index = 0) {
  BenchCase item;
  item.name = name;
  item.index = index;
  item.command = "fmha_bwd bench --benchmark_filter " + name;
  item.operation = "backward";
  item.mask = "no_mask";
  item.dtype = "fp16";
  item.layout = "bhsd";
  item.fill = "normal std=0.1 seed=42";
  item.input_checksum = "0123456789abcdef";
  item.flops = 2e9;
  item.flops_dense = 4e9;
  item.bytes = 1e6;
  for (const double time : times) item.rounds.push_back(round_of(time));
  return item;
}

inline BenchCase failed_case(const std::string& name, const std::string& error, int exit_code,
                             std::int64_t index = 0) {
  BenchCase item = case_of(name, {}, index);
  item.error = error;
  item.exit_code = exit_code;
  return item;
}

inline BenchContext made_up_context() {
  BenchContext context;
  context.version = "0.1.0";
  context.revision = "abc";
  context.command = "fmha_bwd bench";
  context.started = "2025-01-02T03:04:05Z";
  context.host = "here";
  context.cpu = "A CPU";
  context.cpus = 4;
  context.platform = "nvidia";
  context.device = "H200";
  context.arch = "sm_90";
  context.driver = "570.1";
  context.runtime = "CUDA 13.0";
  context.max_clock_mhz = 1980.0;
  context.power_cap_watts = 700.0;
  context.rounds = 9;
  return context;
}

inline BenchResults results_of_cases(const std::vector<BenchCase>& cases) {
  return {made_up_context(), cases};
}

/// `rounds` times around `center` whose logarithms are normal with deviation `noise`.
inline std::vector<double> noisy_times(double center, double noise, std::uint64_t rounds, std::uint64_t seed,
                                       std::uint64_t stream) {
  std::vector<double> times;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    times.push_back(center * std::exp(noise * normal_from_bits(philox_quad(seed, stream, i)[0])));
  }
  return times;
}

}  // namespace fmha_bwd
