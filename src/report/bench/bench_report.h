// What `fmha_bwd report` shows: results files of bench, side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/results.h"

namespace fmha_bwd {

struct NamedRun {
  std::string label;  // what tells it from the other runs: device, revision, both, or the file too
  std::string file;
  BenchResults results;
};

/// A case of a run beside the same case of the baseline. Times are milliseconds of one pass, NaN where that
/// side has none.
struct ComparedCase {
  std::size_t run = 0;  // index in BenchReport::runs
  std::string name;
  double base_ms = 0.0;
  double new_ms = 0.0;
  double ratio = 0.0;          // new_ms / base_ms: above 1 is slower; NaN where either is
  std::optional<double> low;   // interval of the ratio
  std::optional<double> high;  //
  std::string verdict;         // "slower", "faster", "same", "unclear", "new", "missing"; empty: not judged
};

struct BenchReport {
  std::string title;
  std::vector<NamedRun> runs;        // one at least
  std::optional<NamedRun> baseline;  // `compared` is empty without one
  std::vector<ComparedCase> compared;
};

/// Labels the runs and the baseline, and names the report after the devices where its title is empty.
void add_labels(BenchReport& report);

/// Each case of each run beside the baseline's of the same name, as bench/compare.h compares them by its
/// default settings, then the baseline's cases that the run lacks. Times of unlike runs (bench/alike.h) are
/// not judged.
std::vector<ComparedCase> beside_baseline(const BenchReport& report);

/// Rounds of the case in which the device was throttled.
std::int64_t throttled_rounds(const BenchCase& item);

/// What a reader has to know before believing a number: emulated devices, contexts that differ, throttled
/// rounds. Sentences.
std::vector<std::string> warnings_of(const BenchReport& report);

}  // namespace fmha_bwd
