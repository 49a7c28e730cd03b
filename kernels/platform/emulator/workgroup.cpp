#include "kernels/platform/emulator/workgroup.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/platform/emulator/sanitizer.h"

namespace hip_emulator {

constinit thread_local Lane* current_lane = nullptr;
constinit thread_local Workgroup* current_workgroup = nullptr;

Workgroup::Workgroup(std::size_t max_lanes)
    : stacks_(max_lanes), lanes_(std::make_unique<Lane[]>(max_lanes)) {}

Workgroup::LaneRange Workgroup::lanes_of(std::size_t wave) const {
  return {wave * wave_size(), std::min((wave + 1) * wave_size(), lane_count_)};
}

std::optional<Failure> Workgroup::run(const LaunchShape& shape, const uint3& block_index,
                                      const std::function<void()>& body) {
  shape_ = &shape;
  body_ = &body;
  block_index_ = block_index;
  failure_.reset();
  lane_count_ = shape.lanes();
  order_.resize(lane_count_);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  wave_functions_.resize((lane_count_ + wave_size() - 1) / wave_size());
  meetings_.wave.resize(wave_functions_.size());
  ++barriers_;  // between the last workgroup's accesses and this one's
  shared_.reset(shape.shared_bytes, shape.architecture->wave_size);
  start_counting();
  if (shape.schedule_seed) {
    random_.seed(*shape.schedule_seed + block_index.x + (std::uint64_t{block_index.y} << 21) +
                 (std::uint64_t{block_index.z} << 42));
  }
  for (std::size_t i = 0; i < lane_count_; ++i) {
    Lane& lane = lanes_[i];
    const auto number = static_cast<unsigned>(i);
    lane.number = static_cast<int>(i);
    lane.wave = i / wave_size();
    lane.thread_index = {number % shape.block.x, number / shape.block.x % shape.block.y,
                         number / shape.block.x / shape.block.y};
    lane.state = LaneState::ready;
    lane.copies.clear();
    lane.copy_groups = 0;
    stamp(lane);
    const FiberStacks::Stack stack = stacks_.at(i);
    lane.context.prepare(stack.begin, stack.bytes, &Workgroup::lane_entry);
  }

  current_workgroup = this;
  release(&meetings_.start);
  do {
    run_ready_lanes();
  } while (!failure_ && meet());
  acquire(&meetings_.end);
  if (failure_) {  // lanes wait that will never reach the end
    for (char& meeting : meetings_.barrier) acquire(&meeting);
    for (auto& meetings : meetings_.wave) {
      for (char& meeting : meetings) acquire(&meeting);
    }
  }
  current_workgroup = nullptr;
  if (counted_ != nullptr) failure_ ? counted_->abandon() : counted_->finish();
  return std::exchange(failure_, std::nullopt);
}

void Workgroup::start_counting() {
  counted_ = nullptr;
  if (shape_->counted_banks == nullptr) return;
  if (!accesses_) accesses_ = std::make_unique<SharedAccesses>();
  counted_ = accesses_.get();
  counted_->start(*shape_->counted_banks, lane_count_, wave_size());
}

std::vector<CountedSite> Workgroup::take_counted() {
  return accesses_ ? accesses_->take() : std::vector<CountedSite>();
}

void Workgroup::run_ready_lanes() {
  if (shape_->schedule_seed) std::shuffle(order_.begin(), order_.end(), random_);
  for (const std::size_t index : order_) {
    Lane& lane = lanes_[index];
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
  Lane& lane = *current_lane;
  if (!lane.copies.empty()) {
    workgroup.fail(
        "ended with " + std::to_string(lane.copies.size()) + " copies under way that it has not waited for",
        nullptr);
  }
  release(&workgroup.meetings_.end);
  lane.state = LaneState::ended;
  FiberContext::leave_for_good(lane.context, workgroup.scheduler_);
}

void Workgroup::stamp(Lane& lane) const {
  lane.stamp = Stamp(barriers_, wave_functions_[lane.wave], lane.number);
}

void Workgroup::fail(std::string&& what, const void* code) {
  Lane& lane = *current_lane;
  failure_ = Failure{block_index_, "lane " + std::to_string(lane.number) + ": " + what, code};
  std::string().swap(what);  // the lane's stack is left as it is
  lane.state = LaneState::failed;
  release(&meetings_.end);
  FiberContext::switch_between(lane.context, scheduler_);  // from the middle of its functions
  __builtin_unreachable();
}

}  // namespace hip_emulator
