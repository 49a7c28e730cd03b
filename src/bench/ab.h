// Two builds measured in turn, round by round.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/results.h"
#include "src/bench/bench_options.h"
#include "src/bench/plan.h"
#include "src/progress.h"

namespace fmha_bwd {

struct AbResults {
  BenchResults base;    // of the other program
  BenchResults latest;  // of this one
};

/// Rounds of the cases by options.other_binary and by this program, `rounds` of each: each visit to a program
/// is a process of its own with one round of every case, and who comes first alternates. What is there
/// already in `results` is kept. Cases are verified in their first round. `only`: names of the cases to
/// visit; empty: all. Throws Error (device_error) where a program cannot be run or leaves no results.
void measure_ab(const BenchOptions& options, std::int64_t rounds, const std::vector<std::string>& only,
                AbResults& results, Progress& progress, const std::function<void()>& after_round);

}  // namespace fmha_bwd
