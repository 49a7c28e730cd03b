// Where lanes wait for one another: barriers and wave functions.
#include <algorithm>
#include <array>

#include "kernels/platform/emulator/architecture.h"
#include "kernels/platform/emulator/report.h"
#include "kernels/platform/emulator/sanitizer.h"
#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {

void Workgroup::barrier(const Site& site) {
  Lane& lane = *current_lane;
  lane.state = LaneState::at_barrier;
  lane.site = site;
  void* const meeting = &meetings_.barrier[barriers_ % 2];
  release(meeting);
  FiberContext::switch_between(lane.context, scheduler_);
  acquire(meeting);
}

std::uint64_t Workgroup::wave_function(WaveFunction function, const Exchange& exchange, const Site& site) {
  Lane& lane = *current_lane;
  lane.state = LaneState::at_wave_function;
  lane.site = site;
  lane.function = function;
  lane.exchange = exchange;
  if (!orders_memory(function)) {
    release(&meetings_.end);  // where the wave does not meet, it ends here
    FiberContext::switch_between(lane.context, scheduler_);
    return lane.exchange.value;
  }
  void* const meeting = &meetings_.wave[lane.wave][wave_functions_[lane.wave] % 2];
  release(meeting);
  FiberContext::switch_between(lane.context, scheduler_);
  acquire(meeting);
  return lane.exchange.value;
}

bool Workgroup::meet() {
  bool some_go_on = false;
  for (std::size_t wave = 0; wave < wave_functions_.size() && !failure_; ++wave) {
    some_go_on |= meet_in_wave(wave);
  }
  if (failure_) return false;
  if (some_go_on) return true;

  // Now every lane has ended or waits at a barrier, or it is a deadlock.
  const Lane* const begin = lanes_.get();
  const Lane* const end = begin + lane_count_;
  const auto in = [](LaneState state) { return [state](const Lane& lane) { return lane.state == state; }; };
  const Lane* const first = std::find_if(begin, end, in(LaneState::at_barrier));
  if (std::all_of(begin, end, in(LaneState::ended))) return false;
  if (std::any_of(begin, end, in(LaneState::at_wave_function))) {
    fail_meeting("deadlock: nobody can go on", all_lanes());
    return false;
  }
  if (!std::all_of(begin, end, [&](const Lane& lane) {
        return lane.state == LaneState::at_barrier && lane.site == first->site;
      })) {
    fail_meeting("divergent barrier", all_lanes());
    return false;
  }
  ++barriers_;
  for (std::size_t i = 0; i < lane_count_; ++i) {
    lanes_[i].state = LaneState::ready;
    stamp(lanes_[i]);
  }
  return true;
}

bool Workgroup::meet_in_wave(std::size_t wave) {
  const LaneRange lanes = lanes_of(wave);
  std::size_t here = 0;
  bool some_at_barrier = false;
  bool same_site = true;
  const Lane* first = nullptr;
  for (std::size_t i = lanes.begin; i < lanes.end; ++i) {
    const Lane& lane = lanes_[i];
    some_at_barrier |= lane.state == LaneState::at_barrier;
    if (lane.state != LaneState::at_wave_function) continue;
    ++here;
    if (first == nullptr) first = &lane;
    same_site = same_site && lane.site == first->site && lane.exchange.compute == first->exchange.compute;
  }
  if (here == 0) return false;
  if (here < lanes.end - lanes.begin || !same_site) {
    // Where some of the wave wait at a barrier it is a deadlock, once the other waves cannot go on either.
    if (!some_at_barrier) fail_meeting("divergent wave function", lanes);
    return false;
  }
  exchange(lanes);
  if (orders_memory(first->function)) ++wave_functions_[wave];
  for (std::size_t i = lanes.begin; i < lanes.end; ++i) {
    lanes_[i].state = LaneState::ready;
    stamp(lanes_[i]);
  }
  return true;
}

void Workgroup::exchange(LaneRange lanes) {
  if (const Computation compute = lanes_[lanes.begin].exchange.compute) {
    std::array<void*, kMaxWaveSize> operands;
    for (std::size_t i = lanes.begin; i < lanes.end; ++i) {
      operands[i - lanes.begin] = lanes_[i].exchange.operands;
    }
    compute({operands.data(), lanes.end - lanes.begin}, *shape_->architecture);
    return;
  }
  std::array<std::uint64_t, kMaxWaveSize> brought;
  std::uint64_t ballot = 0;
  for (std::size_t i = lanes.begin; i < lanes.end; ++i) {
    brought[i - lanes.begin] = lanes_[i].exchange.value;
    if (lanes_[i].exchange.value != 0) ballot |= std::uint64_t{1} << (i - lanes.begin);
  }
  for (std::size_t i = lanes.begin; i < lanes.end; ++i) {
    Lane& lane = lanes_[i];
    const auto source = static_cast<std::size_t>(lane.exchange.source);
    if (lane.function == WaveFunction::ballot) {
      lane.exchange.value = ballot;
    } else if (source < lanes.end - lanes.begin) {
      lane.exchange.value = brought[source];
    }
  }
}

void Workgroup::fail_meeting(const std::string& what, LaneRange lanes) {
  failure_ =
      Failure{block_index_,
              what + ": " + who_waits_where({lanes_.get() + lanes.begin, lanes.end - lanes.begin}), nullptr};
}

}  // namespace hip_emulator
