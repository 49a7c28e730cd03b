#include "bench/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "bench/statistics.h"
#include "bench/telemetry/slow_clock.h"

namespace fmha_bwd {
namespace {

using Time = std::chrono::steady_clock::time_point;

Time now() { return std::chrono::steady_clock::now(); }
double seconds_since(Time begin) { return std::chrono::duration<double>(now() - begin).count(); }

constexpr double kMostBatchPasses = 1000.0;
constexpr std::int64_t kMostGraphPasses = 512;  // a graph holds each launch

/// Samples of one kind, milliseconds a pass, with the clock that each was taken at.
class Samples {
 public:
  explicit Samples(Subject& subject) : subject_(subject) {}

  /// Adds what `measure` gives, milliseconds of `passes` passes; nothing where that is nothing.
  template <class Measure>
  void take(std::int64_t passes, const Measure& measure) {
    const Time begin = now();
    const std::optional<double> total = measure();
    if (!total) return;
    times_.push_back(*total / static_cast<double>(passes));
    intervals_.emplace_back(begin, now());
    clocks_.push_back(subject_.clock_mhz());
    device_seconds_ += *total * 1e-3;
  }

  const std::vector<double>& times() const { return times_; }
  double device_seconds() const { return device_seconds_; }

  bool knows_clock() const { return clock_mhz().has_value(); }
  /// Takes the clocks that `watch` saw.
  void ask(const ClockWatch& watch) {
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      clocks_[i] = watch.clock_during(intervals_[i].first, intervals_[i].second);
    }
  }
  /// The median.
  std::optional<double> clock_mhz() const { return reference_clock(clocks_); }

  /// The times without those of a slow clock; `round` counts them.
  std::vector<double> kept(Round& round) const {
    const SlowClocks slow = slow_clocks(clocks_, clock_mhz());
    round.throttled |= slow.throttled;
    round.slow_clock += static_cast<std::int64_t>(slow.discarded.size());
    std::vector<double> kept;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (!std::binary_search(slow.discarded.begin(), slow.discarded.end(), i)) kept.push_back(times_[i]);
    }
    return kept;
  }

 private:
  Subject& subject_;
  std::vector<double> times_;
  std::vector<std::pair<Time, Time>> intervals_;
  SampleClocks clocks_;
  double device_seconds_ = 0.0;
};

/// Passes for `seconds`, one at least; the median of their milliseconds.
double warm_up(Subject& subject, double seconds) {
  std::vector<double> times;
  const Time begin = now();
  do {
    times.push_back(subject.passes(1));
  } while (seconds_since(begin) < seconds);
  return median(std::move(times));
}

std::int64_t batch_passes(const Subject& subject, double pass_ms, double batch_seconds) {
  if (!subject.has_batches()) return 0;
  const double passes = std::round(batch_seconds * 1e3 / std::max(pass_ms, 1e-6));
  return static_cast<std::int64_t>(std::clamp(passes, 2.0, kMostBatchPasses));
}

}  // namespace

Round sample_round(Subject& subject, const SamplerSettings& settings, const ClockWatch* watch) {
  Round round;
  const double pass_ms = warm_up(subject, settings.warmup_seconds);
  round.batch_passes = batch_passes(subject, pass_ms, settings.batch_seconds);
  std::int64_t graph_passes =
      pass_ms < settings.graph_below_ms ? std::min(round.batch_passes, kMostGraphPasses) : 0;
  if (graph_passes > 0 && !subject.graph(graph_passes)) graph_passes = 0;

  Samples single(subject);
  Samples batch(subject);
  Samples graph(subject);
  const Samples& decisive = round.batch_passes > 0 ? batch : single;
  static_cast<void>(subject.clock_mhz());
  const Time begin = now();
  std::optional<std::string_view> why;
  while (!why) {
    single.take(1, [&] { return std::optional(subject.passes(1)); });
    if (round.batch_passes > 0) {
      batch.take(round.batch_passes, [&] { return std::optional(subject.passes(round.batch_passes)); });
    }
    if (graph_passes > 0) graph.take(graph_passes, [&] { return subject.graph(graph_passes); });
    const double device_seconds = single.device_seconds() + batch.device_seconds() + graph.device_seconds();
    why = why_stop(decisive.times(), device_seconds, seconds_since(begin), settings.stopping);
  }
  round.stopped = *why;
  // Clocks of two sources are not mixed: a vendor's library knows nominal ones.
  const bool has_counters = decisive.knows_clock();
  if (watch != nullptr && !has_counters) {
    for (Samples* samples : {&single, &batch, &graph}) samples->ask(*watch);
  }
  round.single_ms = single.kept(round);
  round.batch_ms = batch.kept(round);
  round.graph_ms = graph.kept(round);
  if (watch != nullptr) round.telemetry = watch->summary(begin, now());
  round.telemetry.clock_mhz = decisive.clock_mhz();
  if (decisive.knows_clock()) round.telemetry.clock_source = has_counters ? "counters" : "library";
  round.throttled |= is_out_of_order(round.telemetry.throttle);
  return round;
}

}  // namespace fmha_bwd
