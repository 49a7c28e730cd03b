// Times backward passes with the device's events, back to back or by themselves, from a named state of the
// caches.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/backend.h"
#include "kernels/backward_pass.h"
#include "kernels/effective_clock.h"
#include "kernels/graph.h"
#include "kernels/hip_check.h"
#include "kernels/problem_memory.h"
#include "kernels/slowdown.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {

/// The most sets of tensors that take turns; what so many of hold together fits in a cache only where each is
/// a few kilobytes.
inline constexpr std::int64_t kMostSets = 4096;

/// How many sets of tensors, of `set_bytes` each, passes take in turn so that none finds its own in a cache
/// of `cache_bytes`: together at least twice the cache; from 2 to kMostSets.
inline std::int64_t rotated_sets(std::size_t set_bytes, std::int64_t cache_bytes) {
  const auto bytes = static_cast<std::int64_t>(std::max<std::size_t>(set_bytes, 1));
  return std::clamp<std::int64_t>((2 * cache_bytes + bytes - 1) / bytes, 2, kMostSets);
}

/// Of one problem under one mask. Every function throws Error (device_error) when the device reports one.
class PassTimer {
 public:
  /// `first` has the inputs, O and LSE; it stays the owner's. `rule` is the device's.
  PassTimer(const Problem& problem, const Family& family, const MaskRule& rule, const ProblemMemory& first,
            CacheState cache, std::int64_t cache_bytes, const Stream& stream)
      : problem_(problem),
        family_(family),
        rule_(rule),
        cache_(cache),
        stream_(stream),
        clock_(stream),
        sets_({&first}) {
    if (cache == CacheState::rotate) {
      const std::int64_t sets = rotated_sets(touched_bytes(problem, family), cache_bytes);
      owned_.reserve(static_cast<std::size_t>(sets - 1));
      for (std::int64_t i = 1; i < sets; ++i) {
        owned_.emplace_back(problem, family, stream_);
        owned_.back().copy_from(first, stream_);
        sets_.push_back(&owned_.back());
      }
    }
    if (cache == CacheState::flush) {
      flush_bytes_ = static_cast<std::size_t>(2 * cache_bytes);
      flushed_ = DeviceBuffer(flush_bytes_);
    }
    stream_.synchronize();
    slowdown_.calibrate([this] { return time(1); }, stream_);
  }

  /// Milliseconds from the start of the first of `passes` >= 1 to the end of the last.
  double time(std::int64_t passes) {
    if (cache_ == CacheState::flush) {
      FMHA_BWD_HIP(hipMemsetAsync(flushed_.data(), 0, flush_bytes_, stream_));
    }
    start_.record(stream_);
    enqueue(passes);
    return stopped();
  }

  /// The same passes as one graph; nothing where the platform has no graphs.
  std::optional<double> time_graph(std::int64_t passes) {
    if (!graph_ || graph_passes_ != passes) {
      graph_.emplace(stream_, [&] { enqueue(passes); });
      graph_passes_ = passes;
    }
    if (!graph_->is_there()) return std::nullopt;
    if (cache_ == CacheState::flush) {
      FMHA_BWD_HIP(hipMemsetAsync(flushed_.data(), 0, flush_bytes_, stream_));
    }
    start_.record(stream_);
    graph_->launch(stream_);
    return stopped();
  }

  /// MHz, on average since the last call, as EffectiveClock has it.
  std::optional<double> clock_mhz() { return clock_.since_last(); }

 private:
  void enqueue(std::int64_t passes) {
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      enqueue_stages(problem_, family_, rule_, sets_[next_]->tensors(), stream_);
      next_ = (next_ + 1) % sets_.size();
      slowdown_.enqueue(stream_);
    }
  }

  double stopped() const {
    stop_.record(stream_);
    stream_.synchronize();
    return stop_.since(start_);
  }

  Problem problem_;
  const Family& family_;
  MaskRule rule_;
  CacheState cache_;
  const Stream& stream_;
  EffectiveClock clock_;
  std::vector<ProblemMemory> owned_;
  std::vector<const ProblemMemory*> sets_;
  std::size_t next_ = 0;
  std::size_t flush_bytes_ = 0;
  DeviceBuffer flushed_;
  Slowdown slowdown_;
  std::optional<Graph> graph_;
  std::int64_t graph_passes_ = 0;
  Event start_;
  Event stop_;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM
