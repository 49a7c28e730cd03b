// Rounds of the planned cases, run by Google Benchmark.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/bench/bench_options.h"
#include "src/bench/plan.h"
#include "src/bench/store.h"
#include "src/program.h"
#include "src/progress.h"

namespace fmha_bwd {

/// Chooses and opens the device, and makes the context of its results.
class Engine {
 public:
  /// Throws Error as choose_device does.
  Engine(const BenchOptions& options, const std::vector<PlannedCase>& planned, const Decorate& decorate);
  ~Engine();

  const BenchContext& context() const;
  /// Whether the device's clock is read while it is measured.
  bool watches() const;

  /// Gives each case of `store` (in the order of `planned`) that has no error the rounds that it lacks up to
  /// `rounds`: Google Benchmark visits the cases in random order, unless its options say otherwise. A case is
  /// verified when it is first visited; one that fails, or that no kernel supports, gets an error and no
  /// rounds. `only`: the numbers of the cases to visit; empty: all. The store is saved after every round.
  /// Returns the number of visits. Throws Error: bad_usage for options that Google Benchmark does not know,
  /// device_error where the results cannot be saved.
  std::size_t run(ResultsStore& store, std::int64_t rounds, const std::vector<std::size_t>& only,
                  Progress& progress);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace fmha_bwd
