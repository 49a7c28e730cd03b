// The results file: JSON that Google Benchmark's compare.py reads, and more.
//
// - context: Google Benchmark's keys, and in "fmha_bwd" every member of BenchContext with "schema_version".
//
// - benchmarks: one entry a round (run_type "iteration", real_time in ms, the counters) and the mean, median,
//   stddev and cv of each case's rounds, derived from "cases". compare.py reads these. It wants a cpu_time:
//   that repeats real_time. A number that is not finite is null here.
//
// - cases: every member of BenchCase, with the raw samples; this program reads these.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/results.h"

namespace fmha_bwd {

/// A case's share of the file's text.
struct CaseText {
  std::string benchmarks;  // its entries, each on a line, with commas between
  std::string item;        // its line in "cases"
};
CaseText case_text(const BenchCase& item, const BenchContext& context);

/// The file's text, with a line's end; cases are those of the context. What has not changed since the last
/// time need not be made again.
std::string results_text(const BenchContext& context, const std::vector<CaseText>& cases);
std::string results_text(const BenchResults& results);

/// The results of a file's text. Throws Error (bad_usage), "`where`: what is wrong", where it is not such
/// JSON, lacks a member, or is of another schema.
BenchResults results_from(const std::string& text, const std::string& where);

/// The results of the file. Throws Error (bad_usage) where it cannot be read too. `option` begins the
/// message.
BenchResults read_results(const std::filesystem::path& path, const std::string& option);

}  // namespace fmha_bwd
