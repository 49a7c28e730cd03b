// One case after the other on its device: verified once, then opened for as many rounds as are wanted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/sampler.h"
#include "kernels/backend.h"
#include "src/bench/bench_options.h"
#include "src/bench/plan.h"
#include "src/bench/turns.h"
#include "src/program.h"

namespace fmha_bwd {

class CaseRuns {
 public:
  CaseRuns(const BenchOptions& options, const Decorate& decorate);

  /// The device that --device and --arch mean; opened where it is not yet. Throws Error as choose_device
  /// does.
  Backend& backend(const std::string& device, const std::optional<std::string>& arch);
  Backend& backend_of(const PlannedCase& planned) {
    return backend(planned.options.device, planned.options.arch);
  }

  /// A round of the case, verified before its first one; fills in what `item` does not know yet: kernel,
  /// device, checksum, verification, peak. `watch` is started for it; nullptr where there is
  /// none. Throws Error: wrong_numbers where
  /// verification fails, unsupported where no kernel takes the problem, device_error.
  Round round(const PlannedCase& planned, BenchCase& item, ClockWatch* watch);

  /// Whether this is one of two processes that measure in turn.
  bool takes_turns() const { return turns_.has_value(); }

  /// Frees what is kept for the case.
  void close(const BenchCase& item) { subjects_.erase(item.name); }

 private:
  void verify(const PlannedCase& planned, BenchCase& item);
  void verify_on_device(const PlannedCase& planned, BenchCase& item);
  Subject& subject_of(const PlannedCase& planned, const BenchCase& item);

  const BenchOptions& options_;
  const Decorate& decorate_;
  std::optional<Turns> turns_;       // of one of two processes that --ab lets measure in turn
  std::vector<Platform> platforms_;  // asked for when a device is
  std::map<std::pair<std::string, int>, std::unique_ptr<Backend>> backends_;
  std::set<std::string> verified_;  // by name
  // Kept from one round to the next, until memory is short.
  std::map<std::string, std::unique_ptr<Subject>> subjects_;
};

}  // namespace fmha_bwd
