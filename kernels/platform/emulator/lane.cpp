#include "kernels/platform/emulator/lane.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "kernels/platform/emulator/architecture.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace hip_emulator {

constinit thread_local Lane* current_lane = nullptr;
constinit thread_local Workgroup* current_workgroup = nullptr;

namespace {

// What ThreadSanitizer is told: lanes are ordered where they meet, and nowhere else. The address is only a
// name.
void release([[maybe_unused]] void* meeting) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(meeting);
#endif
}
void acquire([[maybe_unused]] void* meeting) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(meeting);
#endif
}

std::string lane_list(const std::vector<int>& lanes) {
  std::string text;
  for (std::size_t i = 0; i < lanes.size();) {
    std::size_t last = i;
    while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(lanes[i]);
    if (last > i) text += "-" + std::to_string(lanes[last]);
    i = last + 1;
  }
  return (lanes.size() == 1 ? "lane " : "lanes ") + text;
}

}  // namespace

bool Site::operator==(const Site& other) const {
  return line == other.line && std::strcmp(operation, other.operation) == 0 &&
         std::strcmp(file, other.file) == 0;
}

std::string Site::text() const { return std::string(operation) + " at " + file + ":" + std::to_string(line); }

Workgroup::Workgroup() : stacks_(kMaxWorkgroupSize) {}

std::optional<std::string> Workgroup::run(const LaunchShape& shape, const uint3& block_index,
                                          const std::function<void()>& body) {
  shape_ = &shape;
  body_ = &body;
  block_index_ = block_index;
  failure_.reset();
  lane_count_ = std::size_t{shape.block.x} * shape.block.y * shape.block.z;
  while (lanes_.size() < lane_count_) lanes_.push_back(std::make_unique<Lane>());
  order_.resize(lane_count_);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  wave_functions_.assign((lane_count_ + static_cast<std::size_t>(shape.wave_size) - 1) /
                             static_cast<std::size_t>(shape.wave_size),
                         0);
  meetings_.wave.resize(wave_functions_.size());
  ++barriers_;
  shared_.reset(shape.shared_bytes, shape.wave_size);
  if (shape.schedule_seed) {
    random_.seed(*shape.schedule_seed + block_index.x + (std::uint64_t{block_index.y} << 21) +
                 (std::uint64_t{block_index.z} << 42));
  }
  for (std::size_t i = 0; i < lane_count_; ++i) {
    Lane& lane = *lanes_[i];
    const auto number = static_cast<unsigned>(i);
    lane.number = static_cast<int>(i);
    lane.thread_index = {number % shape.block.x, number / shape.block.x % shape.block.y,
                         number / shape.block.x / shape.block.y};
    lane.state = LaneState::ready;
    lane.context.prepare(stacks_.at(i), FiberStacks::kBytes, &Workgroup::lane_entry);
  }

  current_workgroup = this;
  release(&meetings_.start);
  do {
    run_ready_lanes();
  } while (!failure_ && meet());
  acquire(&meetings_.end);
  current_workgroup = nullptr;
  if (failure_) {
    return "workgroup (" + std::to_string(block_index.x) + "," + std::to_string(block_index.y) + "," +
           std::to_string(block_index.z) + "): " + *failure_;
  }
  return std::nullopt;
}

void Workgroup::run_ready_lanes() {
  if (shape_->schedule_seed) std::shuffle(order_.begin(), order_.end(), random_);
  for (const std::size_t index : order_) {
    Lane& lane = *lanes_[index];
    if (lane.state != LaneState::ready) continue;
    current_lane = &lane;
    FiberContext::switch_between(scheduler_, lane.context);
    current_lane = nullptr;
    if (failure_) return;
  }
}

void Workgroup::lane_entry() {
  Workgroup& workgroup = *current_workgroup;
  FiberContext::entered(workgroup.scheduler_);
  acquire(&workgroup.meetings_.start);
  (*workgroup.body_)();
  release(&workgroup.meetings_.end);
  Lane& lane = *current_lane;
  lane.state = LaneState::finished;
  FiberContext::switch_between(lane.context, workgroup.scheduler_);
}

bool Workgroup::meet() {
  bool some_go_on = false;
  for (int wave = 0; wave < static_cast<int>(wave_functions_.size()); ++wave)
    some_go_on |= meet_in_wave(wave);
  if (failure_) return false;
  if (some_go_on) return true;

  std::size_t waiting = 0;
  std::size_t finished = 0;
  const Site* site = nullptr;
  bool same_site = true;
  for (std::size_t i = 0; i < lane_count_; ++i) {
    const Lane& lane = *lanes_[i];
    if (lane.state == LaneState::finished) ++finished;
    if (lane.state != LaneState::at_barrier) continue;
    ++waiting;
    if (site == nullptr) site = &lane.site;
    same_site = same_site && lane.site == *site;
  }
  if (finished == lane_count_) return false;
  if (waiting + finished < lane_count_) {
    failure_ = "deadlock: nobody can go on: " + who_waits_where();
    return false;
  }
  if (finished > 0 || !same_site) {
    failure_ = "divergent barrier: " + who_waits_where();
    return false;
  }
  ++barriers_;
  std::fill(wave_functions_.begin(), wave_functions_.end(), std::uint16_t{0});
  for (std::size_t i = 0; i < lane_count_; ++i) lanes_[i]->state = LaneState::ready;
  return true;
}

bool Workgroup::meet_in_wave(int wave) {
  const std::size_t first = static_cast<std::size_t>(wave) * static_cast<std::size_t>(shape_->wave_size);
  const std::size_t end = std::min(first + static_cast<std::size_t>(shape_->wave_size), lane_count_);
  std::size_t here = 0;
  std::size_t at_barrier = 0;
  bool same_site = true;
  const Site* site = nullptr;
  for (std::size_t i = first; i < end; ++i) {
    const Lane& lane = *lanes_[i];
    if (lane.state == LaneState::at_barrier) ++at_barrier;
    if (lane.state != LaneState::at_wave_function) continue;
    ++here;
    if (site == nullptr) site = &lane.site;
    same_site = same_site && lane.site == *site;
  }
  if (here == 0) return false;
  if (here < end - first || !same_site) {
    // Lanes that wait at a barrier meanwhile make it a deadlock, which meet() reports.
    if (at_barrier == 0) failure_ = "divergent wave function: " + who_waits_where();
    return false;
  }
  std::vector<Exchange> brought;
  std::uint64_t ballot = 0;
  for (std::size_t i = first; i < end; ++i) {
    brought.push_back(lanes_[i]->exchange);
    if (lanes_[i]->exchange.value != 0) ballot |= std::uint64_t{1} << (i - first);
  }
  for (std::size_t i = first; i < end; ++i) {
    Lane& lane = *lanes_[i];
    if (lane.function == WaveFunction::ballot) {
      lane.exchange.value = ballot;
    } else if (const auto source = static_cast<std::size_t>(lane.exchange.source); source < brought.size()) {
      lane.exchange.value = brought[source].value;
    }
    lane.state = LaneState::ready;
  }
  ++wave_functions_[static_cast<std::size_t>(wave)];
  return true;
}

std::string Workgroup::who_waits_where() const {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t i = 0; i < lane_count_; ++i) {
    const Lane& lane = *lanes_[i];
    const std::string where =
        lane.state == LaneState::finished ? "have ended" : "wait in " + lane.site.text();
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& entry) { return entry.first == where; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->second.push_back(lane.number);
  }
  std::string text;
  for (const auto& [where, lanes] : groups)
    text += (text.empty() ? "" : "; ") + lane_list(lanes) + " " + where;
  return text;
}

void Workgroup::barrier(const Site& site) {
  Lane& lane = *current_lane;
  lane.state = LaneState::at_barrier;
  lane.site = site;
  // A lane that is already at the next barrier must not look ordered before one that still leaves this one.
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
  const auto wave = static_cast<std::size_t>(wave_of(lane));
  void* const meeting = &meetings_.wave[wave][wave_functions_[wave] % 2];
  release(meeting);
  FiberContext::switch_between(lane.context, scheduler_);
  acquire(meeting);
  return lane.exchange.value;
}

void Workgroup::check_access(std::uintptr_t address, std::size_t bytes, Access access, const void* code) {
  const Lane& lane = *current_lane;
  std::optional<std::string> fault;
  if (shared_.concerns(address)) {
    const Stamp stamp = {barriers_, wave_functions_[static_cast<std::size_t>(wave_of(lane))],
                         static_cast<std::uint16_t>(lane.number)};
    fault = shared_.fault_of(address, bytes, access, stamp);
  } else {
    const auto stack = reinterpret_cast<std::uintptr_t>(stacks_.at(static_cast<std::size_t>(lane.number)));
    if (address - stack < FiberStacks::kBytes) return;
    fault = DeviceMemory::instance().fault_of(address, bytes, access);
  }
  if (fault) {
    char where[32];
    std::snprintf(where, sizeof(where), "%p", code);
    fail(*fault + " (code at " + where + ")");
  }
}

void Workgroup::fail(const std::string& what) {
  Lane& lane = *current_lane;
  current_lane = nullptr;  // what the report needs is not the kernel's doing
  failure_ = "lane " + std::to_string(lane.number) + ": " + what;
  lane.state = LaneState::failed;
  FiberContext::switch_between(lane.context, scheduler_);
  __builtin_unreachable();
}

}  // namespace hip_emulator
