// Which timing samples were taken at a slow clock, and whether they may be discarded: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace fmha_bwd {

/// MHz of each sample, in the order of the samples. Nothing, or what is no positive finite number, is
/// unknown.
using SampleClocks = std::vector<std::optional<double>>;

/// A sample is slow where its clock is below this share of the reference clock.
inline constexpr double kSlowClock = 0.95;
/// Of a round's samples, this share may be discarded.
inline constexpr double kMostDiscarded = 0.2;

/// The clock that a case's samples are held against: the 90th percentile (nearest rank) of the known ones.
/// Nothing where none is known. Not the highest: a single boost before the load has heated up would make all
/// others slow. Not the median: where most of the samples are slow, it is slow itself, and hides them.
std::optional<double> reference_clock(const SampleClocks& clocks);

struct SlowClocks {
  std::vector<std::size_t> discarded;  // indices of samples, ascending
  bool throttled = false;              // more were slow than may be discarded, so that none is
};

/// What to discard of a round with those clocks. A sample of unknown clock stays, and so does one at least,
/// whatever `most_discarded` is. Nothing is slow where there is no reference.
SlowClocks slow_clocks(const SampleClocks& clocks, std::optional<double> reference,
                       double most_discarded = kMostDiscarded);

}  // namespace fmha_bwd
