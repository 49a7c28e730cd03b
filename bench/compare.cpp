#include "bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/holm.h"
#include "bench/rank_test.h"
#include "bench/signed_rank.h"
#include "bench/statistics.h"

namespace fmha_bwd {
namespace {

using CasesByName = std::map<std::string_view, const BenchCase*>;

CasesByName by_name(const BenchResults& results, std::string_view side) {
  CasesByName cases;
  for (const BenchCase& item : results.cases) {
    if (cases.emplace(item.name, &item).second) continue;
    throw Error(ExitCode::bad_usage, fmt::format("{}: two cases are named '{}'", side, item.name));
  }
  return cases;
}

bool is_time(double milliseconds) { return std::isfinite(milliseconds) && milliseconds > 0.0; }

std::optional<double> measured_time(const BenchCase& item) {
  const auto is_measured = [](const Round& round) { return is_time(time_of(round)); };
  if (item.rounds.empty() || !std::all_of(item.rounds.begin(), item.rounds.end(), is_measured)) {
    return std::nullopt;
  }
  return time_of(item);
}

bool failed(const BenchCase& item) { return !item.error.empty() || item.exit_code != 0; }

/// Why a side cannot be compared; empty where it can.
std::string complaint_about(const BenchCase& item, std::string_view side, const CompareSettings& settings) {
  if (failed(item)) {
    const std::string why = item.error.empty() ? fmt::format("exit code {}", item.exit_code) : item.error;
    return fmt::format("{} failed: {}", side, why);
  }
  const auto rounds = static_cast<std::int64_t>(item.rounds.size());
  if (rounds < settings.min_rounds) {
    return fmt::format("{} has {} rounds; at least {} are needed", side, rounds, settings.min_rounds);
  }
  const bool replays_are_times = std::all_of(item.rounds.begin(), item.rounds.end(), [](const Round& round) {
    return round.graph_ms.empty() || is_time(median(round.graph_ms));
  });
  if (!measured_time(item) || !replays_are_times) {
    return fmt::format("{} has a round whose time is not a positive number", side);
  }
  const auto throttled = std::count_if(item.rounds.begin(), item.rounds.end(),
                                       [](const Round& round) { return round.throttled; });
  if (static_cast<double>(throttled) > settings.max_throttled_share * static_cast<double>(rounds)) {
    return fmt::format("{} of {} rounds of {} were throttled; at most {:.4g}% may be", throttled, rounds,
                       side, settings.max_throttled_share * 100.0);
  }
  return "";
}

/// The verdict of a case that only one run has.
void judge_alone(CaseComparison& item, const BenchCase* latest, const CompareSettings& settings) {
  if (latest == nullptr) {
    item.verdict = CaseVerdict::missing;
    item.reason = "the new run does not have it";
  } else if (failed(*latest)) {
    item.reason = complaint_about(*latest, "new", settings);
  } else {
    item.verdict = CaseVerdict::not_in_base;
    item.reason = "the baseline does not have it";
  }
}

Effect effect_between(const BenchCase& base, const BenchCase& latest, bool paired,
                      const CompareSettings& settings) {
  const Sides times = times_between(base, latest, paired);
  Effect effect = {.time = ratio_between(times, settings.bootstrap),
                   .cycles = {},
                   .evidence = evidence_between(times, settings.max_slowdown)};
  if (const auto cycles = cycles_between(base, latest, paired)) {
    effect.cycles = ratio_between(*cycles, settings.bootstrap);
  }
  return effect;
}

/// Whether the nth rounds of every case that both runs have were taken in turn.
bool are_pairs(const BenchResults& base, const BenchResults& latest, const CasesByName& in_base) {
  if (latest.context.in_turn.empty() || latest.context.in_turn != base.context.in_turn) return false;
  return std::all_of(latest.cases.begin(), latest.cases.end(), [&](const BenchCase& item) {
    const auto before = in_base.find(item.name);
    return before == in_base.end() || before->second->rounds.size() == item.rounds.size();
  });
}

bool is_unsupported(const BenchCase& item) {
  return item.exit_code == static_cast<int>(ExitCode::unsupported);
}

/// A case of one run or both; where it has an effect its verdict is still to come.
CaseComparison side_by_side(const BenchCase* base, const BenchCase* latest, bool in_turn,
                            const CompareSettings& settings) {
  const BenchCase& named = latest != nullptr ? *latest : *base;
  CaseComparison result;
  result.name = named.name;
  result.command = named.command;
  if (base != nullptr) {
    result.base_ms = measured_time(*base);
    result.base_rounds = static_cast<std::int64_t>(base->rounds.size());
  }
  if (latest != nullptr) {
    result.latest_ms = measured_time(*latest);
    result.latest_rounds = static_cast<std::int64_t>(latest->rounds.size());
    result.wrong_numbers = latest->exit_code == static_cast<int>(ExitCode::wrong_numbers);
  }
  if (base == nullptr || latest == nullptr) {
    judge_alone(result, latest, settings);
    return result;
  }
  if (is_unsupported(*base) && is_unsupported(*latest)) {
    result.verdict = CaseVerdict::same;
    result.reason = "neither run supports it";
    return result;
  }
  result.reason = complaint_about(*latest, "new", settings);
  if (result.reason.empty()) result.reason = complaint_about(*base, "base", settings);
  if (result.reason.empty()) {
    result.effect = effect_between(*base, *latest, in_turn, settings);
    result.replays = has_replays(*base, *latest);
    if (result.replays) {
      result.base_ms = graph_time_of(*base);
      result.latest_ms = graph_time_of(*latest);
    }
  }
  return result;
}

/// Applies Holm's correction to one p of all cases that have it.
void adjust(std::vector<CaseComparison>& cases, double Evidence::*p) {
  std::vector<double> raw;
  for (const CaseComparison& item : cases) {
    if (item.effect) raw.push_back(item.effect->evidence.*p);
  }
  const std::vector<double> adjusted = holm(raw);
  std::size_t next = 0;
  for (CaseComparison& item : cases) {
    if (item.effect) item.effect->evidence.*p = adjusted[next++];
  }
}

/// Of either side, so that the smallest p, times the cases that Holm's correction counts, is below alpha.
std::int64_t rounds_needed(std::int64_t compared, bool in_turn, const CompareSettings& settings) {
  std::int64_t rounds = settings.min_rounds;
  const auto least = [&] { return in_turn ? least_p_of_pairs(rounds) : least_p(rounds, rounds); };
  while (least() * static_cast<double>(compared) >= settings.alpha) ++rounds;
  return rounds;
}

void judge(CaseComparison& item, std::int64_t compared, bool in_turn, const CompareSettings& settings) {
  const auto& [time, cycles, evidence] = *item.effect;
  const double limit = 1.0 + settings.max_slowdown;
  const bool same_cycles = cycles && cycles->interval.high <= limit;
  if (evidence.p_slower < settings.alpha && time.interval.low > limit) {
    if (same_cycles) {
      item.reason = "the clock was lower: a pass takes as many cycles as before";
    } else {
      item.verdict = CaseVerdict::slower;
    }
  } else if (evidence.p_faster < settings.alpha && time.interval.high < 1.0 - settings.max_slowdown) {
    item.verdict = CaseVerdict::faster;
  } else if (evidence.least_p * static_cast<double>(compared) >= settings.alpha) {
    item.reason = fmt::format("over {} cases so few rounds cannot give p < {}; {} a side are needed",
                              compared, settings.alpha, rounds_needed(compared, in_turn, settings));
  } else if (time.interval.high <= limit) {
    item.verdict = CaseVerdict::same;
  } else if (same_cycles && time.value <= limit) {
    item.verdict = CaseVerdict::same;
    item.reason = "by its cycles: the clock changed";
  } else {
    item.reason =
        fmt::format("a slowdown beyond {:.4g}% is neither shown nor excluded", settings.max_slowdown * 100.0);
  }
}

}  // namespace

std::string_view name_of(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::slower:
      return "slower";
    case CaseVerdict::unclear:
      return "unclear";
    case CaseVerdict::missing:
      return "missing";
    case CaseVerdict::not_in_base:
      return "new";
    case CaseVerdict::faster:
      return "faster";
    case CaseVerdict::same:
      return "same";
  }
  return "";
}

Comparison compare(const BenchResults& base, const BenchResults& latest, const CompareSettings& settings) {
  const CasesByName in_base = by_name(base, "base");
  const CasesByName in_latest = by_name(latest, "new");
  const bool in_turn = are_pairs(base, latest, in_base);
  Comparison comparison;
  comparison.settings = settings;
  comparison.in_turn = in_turn;
  for (const BenchCase& item : latest.cases) {
    const auto before = in_base.find(item.name);
    const BenchCase* baseline = before == in_base.end() ? nullptr : before->second;
    comparison.common += baseline == nullptr ? 0 : 1;
    comparison.cases.push_back(side_by_side(baseline, &item, in_turn, settings));
  }
  for (const BenchCase& item : base.cases) {
    if (!in_latest.contains(item.name))
      comparison.cases.push_back(side_by_side(&item, nullptr, in_turn, settings));
  }
  adjust(comparison.cases, &Evidence::p_slower);
  adjust(comparison.cases, &Evidence::p_faster);
  const auto compared = std::count_if(comparison.cases.begin(), comparison.cases.end(),
                                      [](const CaseComparison& item) { return item.effect.has_value(); });
  for (CaseComparison& item : comparison.cases) {
    if (item.effect) judge(item, compared, in_turn, settings);
  }
  return comparison;
}

std::int64_t count_of(const Comparison& comparison, CaseVerdict verdict) {
  return std::count_if(comparison.cases.begin(), comparison.cases.end(),
                       [verdict](const CaseComparison& item) { return item.verdict == verdict; });
}

ExitCode exit_code_of(const Comparison& comparison) {
  const auto some = [&](CaseVerdict verdict) { return count_of(comparison, verdict) > 0; };
  if (std::any_of(comparison.cases.begin(), comparison.cases.end(),
                  [](const CaseComparison& item) { return item.wrong_numbers; })) {
    return ExitCode::wrong_numbers;
  }
  if (comparison.common == 0) return ExitCode::unsupported;
  if (some(CaseVerdict::slower)) return ExitCode::regression;
  const bool lacks_cases = some(CaseVerdict::missing) && !comparison.settings.allow_missing;
  return some(CaseVerdict::unclear) || lacks_cases ? ExitCode::unclear : ExitCode::passed;
}

}  // namespace fmha_bwd
