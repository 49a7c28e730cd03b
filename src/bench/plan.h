// The cases of a sweep, before anything is measured.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/results.h"
#include "src/bench/sweep_words.h"
#include "src/options.h"

namespace fmha_bwd {

/// Backward passes on a device, or the reference on the CPU: its exact half in fp64, or the textbook one in
/// the problem's type.
enum class Operation { backward, exact_reference, textbook_reference };

struct PlannedCase {
  Operation operation = Operation::backward;
  Options options;  // of a run of this one mask
  BenchCase item;   // what is known of it before it is measured
};

/// A line of sweep words, and where it stands: "--cases: 'gate.txt', line 3"; empty for the command line.
struct SweepLine {
  Words words;
  std::string where;
};

/// Takes every "--option V" and "--option=V" (and "--option" at the end, whose value is empty) out of
/// `words`; the last value, nothing where there is none.
std::optional<std::string> take_option(Words& words, std::string_view option);

/// The lines of a case file that have words: each is a sweep of its own. A # begins a comment. Throws Error
/// (bad_usage) where the file cannot be read.
std::vector<SweepLine> read_sweep(const std::filesystem::path& path);

/// The cases of all lines, in their order, each name once. `on_cpu`: of the reference, whose --kernel is
/// exact or textbook. Throws Error (bad_usage), which begins with the line's place, for words that a run
/// would refuse or that mean nothing to a sweep (--save, --random, --format ..).
std::vector<PlannedCase> plan_cases(const std::vector<SweepLine>& lines, bool on_cpu);

/// I/N: those of the cases whose number, counted from 0, is I - 1 modulo N.
struct Shard {
  std::size_t index = 1;  // from 1
  std::size_t count = 1;
};

/// Throws Error (bad_usage) unless the text is I/N with 1 <= I <= N.
Shard shard_from(const std::string& text);

/// Whether the regular expression (POSIX extended) finds something in the name, or nothing where "-" stands
/// before it. Throws Error (bad_usage) where it is none.
bool name_matches(const std::string& name, const std::string& expression);

/// Those whose names match.
std::vector<PlannedCase> filtered(std::vector<PlannedCase> all, const std::string& expression);

std::vector<PlannedCase> cases_of(std::vector<PlannedCase> all, const Shard& shard);

}  // namespace fmha_bwd
