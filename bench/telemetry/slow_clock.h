// Which timing samples were taken at a slow clock, and whether they may be discarded: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fmha_bwd {

/// MHz of each sample, in the order of the samples. Nothing, or what is no positive finite number, is
/// unknown.
using SampleClocks = std::vector<std::optional<double>>;

/// A sample is slow where its clock is below this share of the reference clock.
inline constexpr double kSlowClock = 0.95;
/// Of a round's samples, this share may be discarded.
inline constexpr double kMostDiscarded = 0.2;

/// The clock that a round's samples are held against: the median (the higher of two in the middle) of the
/// known ones; nothing where none is known. Not the highest that the device has or had: under its power cap
/// a GPU runs heavy kernels well below that, always, and that is the state to be measured.
std::optional<double> reference_clock(const SampleClocks& clocks);

struct SlowClocks {
  std::vector<std::size_t> discarded;  // indices of samples, ascending
  bool throttled = false;              // more were slow than may be discarded, so that none is
};

/// What to discard of a round with those clocks. A sample of unknown clock stays, and so does one at least,
/// whatever `most_discarded` is. Nothing is slow where there is no reference.
SlowClocks slow_clocks(const SampleClocks& clocks, std::optional<double> reference,
                       double most_discarded = kMostDiscarded);

/// Whether one of these reasons to throttle says that the device is not in the state that its load brings
/// about: heat, a brake, hardware. A power cap does not.
bool is_out_of_order(const std::vector<std::string>& throttle);

}  // namespace fmha_bwd
