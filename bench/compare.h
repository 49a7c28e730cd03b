// The gate: whether cases became slower between two runs.
//
// The unit is the round (bench/results.h), since launches inside of one are correlated. A case is slower only
// if both hold:
//   - the one-sided Mann-Whitney test of the new rounds against the baseline's times 1 + max_slowdown says
//   so:
//     p < alpha after Holm's correction over all cases that could be compared;
//   - the slowdown is large enough: the 95 % bootstrap interval of median(new) / median(base) lies wholly
//     above 1 + max_slowdown.
// Rounds that two builds took in turn (`bench --ab`) are pairs: both sides of one met the same state of the
// machine, however much that changes from one to the next. Then the test is the signed-rank test of the
// pairs, and ratio and interval are those of the median of new / base.
//
// It is faster where the mirror image of both holds: the opposite p, and the interval below 1 - max_slowdown.
// It is the same where the interval excludes a slowdown beyond max_slowdown: its upper end is at most
// 1 + max_slowdown. All else is unclear, with the reason.
//
// Where both sides know their clocks, the same interval is made of cycles, time x clock. A GPU at its power
// cap changes its clock by several percent from one minute to the next, and cycles do not see that. Where
// they exclude a slowdown beyond max_slowdown, times that say nothing, and whose ratio is within the limit,
// are the same; times that are slower are unclear: it was the clock that changed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bench/bootstrap.h"
#include "bench/effect.h"
#include "bench/results.h"

namespace fmha_bwd {

struct CompareSettings {
  double max_slowdown = 0.01;  // a share of the baseline's time
  double alpha = 0.05;
  std::int64_t min_rounds = 9;        // on either side
  double max_throttled_share = 0.25;  // of a side's rounds
  bool allow_missing = false;         // a case that only the baseline has does not count
  BootstrapSettings bootstrap = {};
};

/// The worst first.
enum class CaseVerdict {
  slower,
  unclear,
  missing,      // only the baseline has it
  not_in_base,  // the baseline lacks it: "new"
  faster,
  same,
};

inline constexpr std::array<CaseVerdict, 6> kCaseVerdicts = {CaseVerdict::slower,  CaseVerdict::unclear,
                                                             CaseVerdict::missing, CaseVerdict::not_in_base,
                                                             CaseVerdict::faster,  CaseVerdict::same};

/// "slower", "unclear", "missing", "new", "faster" or "same".
std::string_view name_of(CaseVerdict verdict);

struct Effect {
  Ratio time;
  std::optional<Ratio> cycles;  // nothing where a round of either side does not know its clock
  Evidence evidence;            // p_slower and p_faster adjusted
};

struct CaseComparison {
  std::string name;
  std::string command;  // the shortest that runs this case
  CaseVerdict verdict = CaseVerdict::unclear;
  std::string reason;             // of unclear, missing and new, and of some that are the same; else empty
  bool wrong_numbers = false;     // the new side failed its verification; the verdict is unclear
  bool replays = false;           // the times are of graph replays, as has_replays says
  std::optional<double> base_ms;  // median over rounds; nothing where it was not measured
  std::optional<double> latest_ms;
  std::int64_t base_rounds = 0;
  std::int64_t latest_rounds = 0;
  std::optional<Effect> effect;  // nothing where the two sides could not be compared
};

struct Comparison {
  CompareSettings settings;
  bool in_turn = false;               // the rounds of both runs are pairs
  std::vector<CaseComparison> cases;  // the new run's in its order, then those that are missing
  std::int64_t common = 0;            // cases that both runs have
};

/// Compares a new run, `latest`, with a baseline. Whether they may be compared is unlike_results' question.
/// Throws Error (bad_usage) where a run has two cases of one name.
Comparison compare(const BenchResults& base, const BenchResults& latest,
                   const CompareSettings& settings = {});

std::int64_t count_of(const Comparison& comparison, CaseVerdict verdict);

/// The first that applies: wrong_numbers where a new case failed its verification; unsupported where the runs
/// have no case in common; regression where a case is slower; unclear where one is unclear, or missing unless
/// that is allowed; passed. New and faster cases never fail.
ExitCode exit_code_of(const Comparison& comparison);

}  // namespace fmha_bwd
