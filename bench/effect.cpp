#include "bench/effect.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "bench/rank_test.h"
#include "bench/signed_rank.h"
#include "bench/statistics.h"

namespace fmha_bwd {
namespace {

std::vector<double> times_of(const BenchCase& item, bool replays) {
  std::vector<double> times;
  for (const Round& round : item.rounds) times.push_back(replays ? median(round.graph_ms) : time_of(round));
  return times;
}

std::vector<double> megacycles_of(const BenchCase& item, bool replays) {
  std::vector<double> cycles = times_of(item, replays);
  for (std::size_t i = 0; i < cycles.size(); ++i) cycles[i] *= *item.rounds[i].telemetry.clock_mhz * 1e-3;
  return cycles;
}

/// Whether every round of both sides knows its clock, from one source: others are not to be compared.
bool knows_clocks(const BenchCase& base, const BenchCase& latest) {
  const std::string& source = base.rounds.front().telemetry.clock_source;
  for (const BenchCase* item : {&base, &latest}) {
    for (const Round& round : item->rounds) {
      const Telemetry& telemetry = round.telemetry;
      if (!(telemetry.clock_mhz.value_or(0.0) > 0.0) || telemetry.clock_source != source) return false;
    }
  }
  return true;
}

/// Whether `larger` tends to be beyond `factor` times `smaller`: the p of that not being so.
double p_beyond(const std::vector<double>& larger, const std::vector<double>& smaller, double factor,
                bool paired) {
  std::vector<double> limits = smaller;
  for (double& limit : limits) limit *= factor;
  if (!paired) return p_of_larger(larger, limits);
  std::vector<double> differences;
  for (std::size_t i = 0; i < limits.size(); ++i) differences.push_back(std::log(larger[i] / limits[i]));
  return p_of_positive(differences);
}

}  // namespace

Ratio ratio_between(const Sides& sides, const BootstrapSettings& settings) {
  if (!sides.paired) {
    return {median(sides.latest) / median(sides.base),
            median_ratio_interval(sides.latest, sides.base, settings)};
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < sides.base.size(); ++i) ratios.push_back(sides.latest[i] / sides.base[i]);
  return {median(ratios), median_interval(ratios, settings)};
}

Evidence evidence_between(const Sides& sides, double max_slowdown) {
  const auto& [base, latest, paired] = sides;
  const auto base_rounds = static_cast<std::int64_t>(base.size());
  const auto latest_rounds = static_cast<std::int64_t>(latest.size());
  return {.p_slower = p_beyond(latest, base, 1.0 + max_slowdown, paired),
          .p_faster = p_beyond(base, latest, 1.0 / (1.0 - max_slowdown), paired),
          .least_p = paired ? least_p_of_pairs(base_rounds) : least_p(base_rounds, latest_rounds)};
}

bool has_replays(const BenchCase& base, const BenchCase& latest) {
  for (const BenchCase* item : {&base, &latest}) {
    for (const Round& round : item->rounds) {
      if (round.graph_ms.empty()) return false;
    }
  }
  return true;
}

Sides times_between(const BenchCase& base, const BenchCase& latest, bool paired) {
  const bool replays = has_replays(base, latest);
  return {times_of(base, replays), times_of(latest, replays), paired};
}

std::optional<Sides> cycles_between(const BenchCase& base, const BenchCase& latest, bool paired) {
  if (!knows_clocks(base, latest)) return std::nullopt;
  const bool replays = has_replays(base, latest);
  return Sides{megacycles_of(base, replays), megacycles_of(latest, replays), paired};
}

}  // namespace fmha_bwd
