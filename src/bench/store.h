// The results of a run under way, on disk after every round.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/results.h"
#include "bench/results_json.h"
#include "src/bench/plan.h"

namespace fmha_bwd {

class ResultsStore {
 public:
  /// Results without rounds of the planned cases. `path` is the file that they are kept in; nothing: none is.
  ResultsStore(BenchContext context, const std::vector<PlannedCase>& planned,
               std::optional<std::string> path);

  /// Takes over what the file has of the same cases: complete rounds, and errors but those of the device,
  /// which are tried again. Nothing where there is no such file. Throws Error (bad_usage) where it cannot be
  /// read, is of an unlike context, another revision or another sweep.
  void resume();

  const BenchResults& results() const { return results_; }
  /// To be changed: the next save() writes it anew.
  BenchCase& item(std::size_t number);

  /// Writes the file so that it has all of the results or stays as it was. Throws Error (device_error) where
  /// that fails.
  void save();

 private:
  BenchResults results_;
  std::optional<std::string> path_;
  std::vector<CaseText> texts_;  // of the cases, for those that are not in `changed_`
  std::set<std::size_t> changed_;
};

}  // namespace fmha_bwd
