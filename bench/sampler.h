// Takes the samples of one round.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/results.h"
#include "bench/stopping.h"
#include "bench/telemetry/clock_watch.h"

namespace fmha_bwd {

/// What is timed. Times are milliseconds, by the clock that the subject trusts most.
class Subject {
 public:
  virtual ~Subject() = default;

  /// `passes` >= 1 back to back, all of them together.
  virtual double passes(std::int64_t passes) = 0;
  /// The same as one replayed graph; nothing where there are none.
  virtual std::optional<double> graph(std::int64_t passes) = 0;
  /// Whether passes that follow another find what `passes(1)` finds, so that batches mean something.
  virtual bool has_batches() const = 0;
  /// MHz that it ran at on average since the last call; nothing where that is not known.
  virtual std::optional<double> clock_mhz() = 0;
};

struct SamplerSettings {
  double warmup_seconds = 0.1;
  StoppingRule stopping;
  double batch_seconds = 0.01;   // a batch takes about so long, or two passes where that is longer
  double graph_below_ms = 0.25;  // graphs are replayed where a pass takes less
};

/// Warms up for warmup_seconds, then takes single passes and batches in turn, and graphs where passes are
/// short, until why_stop has a reason; batches are what it looks at (single passes where there are none).
/// Samples under a slow clock, the subject's or, where that knows none, that of `watch`, are discarded as
/// bench/telemetry/slow_clock.h says. `watch` runs; nullptr where there is none. Throws what the subject
/// does.
Round sample_round(Subject& subject, const SamplerSettings& settings, const ClockWatch* watch = nullptr);

}  // namespace fmha_bwd
