// How far apart two sides of a comparison are.
#pragma once

#include <optional>
#include <vector>

#include "bench/bootstrap.h"
#include "bench/results.h"

namespace fmha_bwd {

/// Of each round, in its order: both sides of a comparison. Positive and finite.
struct Sides {
  std::vector<double> base;
  std::vector<double> latest;
  bool paired = false;  // the nth of either was measured in turn with the nth of the other; as many on both
};

/// New over base.
struct Ratio {
  double value = 0.0;  // median(new) / median(base); of pairs, the median of new / base
  Interval interval;   // by the bootstrap
};

Ratio ratio_between(const Sides& sides, const BootstrapSettings& settings);

/// One-sided p, by the Mann-Whitney test, or of pairs by the signed-rank test of log(new / base).
struct Evidence {
  double p_slower = 0.0;  // that the new times are larger by no more than max_slowdown
  double p_faster = 0.0;  // that they are smaller by no more than that
  double least_p = 0.0;   // that so many rounds can give
};

Evidence evidence_between(const Sides& sides, double max_slowdown);

/// Whether graphs are compared: every round of both sides has replays. Back to back, passes as short as those
/// of graphs differ by 1 to 2 % from one process to the next, by the gaps between their launches; replays
/// don't.
bool has_replays(const BenchCase& base, const BenchCase& latest);

/// Milliseconds of a pass, by replays where has_replays.
Sides times_between(const BenchCase& base, const BenchCase& latest, bool paired);
/// Millions of cycles of a pass, that time x clock; nothing unless every round of both sides knows its clock,
/// all of them from one source. Both have rounds.
std::optional<Sides> cycles_between(const BenchCase& base, const BenchCase& latest, bool paired);

}  // namespace fmha_bwd
