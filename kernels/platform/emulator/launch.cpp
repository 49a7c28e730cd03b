#include "kernels/platform/emulator/launch.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "kernels/platform/emulator/architecture.h"

namespace hip_emulator {
namespace {

std::optional<std::uint64_t> number_in(const char* variable, std::uint64_t limit) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view digits(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end() || number > limit) {
    throw fmha_bwd::Error(
        fmha_bwd::ExitCode::bad_usage,
        std::string(variable) + ": '" + text + "' is not a whole number in 0.." + std::to_string(limit));
  }
  return number;
}

Settings& current_settings() {
  static Settings settings = {static_cast<int>(number_in("FMHA_BWD_EMULATOR_THREADS", 1024).value_or(0)),
                              number_in("FMHA_BWD_EMULATOR_SEED", UINT64_MAX)};
  return settings;
}

// Each stack and its guard page are two mappings, of which Linux allows a process 65530, and ThreadSanitizer
// knows at most 8128 fibers.
#if defined(FMHA_BWD_THREAD_SANITIZER)
constexpr std::size_t kMaxStacks = 4 * kMaxWorkgroupSize;
#else
constexpr std::size_t kMaxStacks = 24 * kMaxWorkgroupSize;
#endif

/// Workgroups that no thread uses now, kept from launch to launch, all with stacks for the largest so far.
class WorkgroupPool {
 public:
  /// Makes room for workgroups of `lanes`. How many there can be at a time.
  std::size_t prepare(std::size_t lanes) {
    const std::lock_guard lock(mutex_);
    if (lanes > max_lanes_) {
      idle_.clear();
      max_lanes_ = lanes;
    }
    return kMaxStacks / max_lanes_;
  }
  std::unique_ptr<Workgroup> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Workgroup>(max_lanes_);
    std::unique_ptr<Workgroup> workgroup = std::move(idle_.back());
    idle_.pop_back();
    return workgroup;
  }
  void give_back(std::unique_ptr<Workgroup> workgroup) {
    const std::lock_guard lock(mutex_);
    if (workgroup->max_lanes() == max_lanes_) idle_.push_back(std::move(workgroup));
  }

 private:
  std::mutex mutex_;
  std::size_t max_lanes_ = 0;
  std::vector<std::unique_ptr<Workgroup>> idle_;
};

WorkgroupPool& pool() {
  static WorkgroupPool workgroups;
  return workgroups;
}

/// A bijection of [0, count) that depends on the seed: i -> (i * step + start) mod count, step prime to
/// count.
class Permutation {
 public:
  Permutation(std::uint64_t count, const std::optional<std::uint64_t>& seed) : count_(count) {
    if (!seed) return;
    std::mt19937_64 random(*seed);
    start_ = random() % count;
    step_ = random() % count;
    while (std::gcd(step_, count) != 1) ++step_;
  }
  std::uint64_t operator()(std::uint64_t i) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * step_ + start_) % count_);
  }

 private:
  std::uint64_t count_;
  std::uint64_t start_ = 0;
  std::uint64_t step_ = 1;
};

}  // namespace

void set_settings(const Settings& settings) { current_settings() = settings; }
Settings settings() { return current_settings(); }

std::optional<Failure> run_grid(LaunchShape shape, const std::function<void()>& body,
                                std::vector<CountedSite>* counted) {
  const Settings how = settings();
  shape.schedule_seed = how.schedule_seed;
  const std::uint64_t count = shape.workgroups();
  const Permutation order(count, how.schedule_seed);

  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t wanted = how.threads > 0 ? static_cast<std::size_t>(how.threads) : cores;
  const std::size_t possible = pool().prepare(shape.lanes());
  const std::uint64_t threads = std::min<std::uint64_t>({wanted, possible, count});
  std::vector<std::unique_ptr<Workgroup>> rooms;
  for (std::uint64_t i = 0; i < threads; ++i) rooms.push_back(pool().take());

  // Workgroups start in order, so that all before a failed one run to their ends, and the first that fails is
  // the same in every run.
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::uint64_t failed = count;
  std::optional<Failure> failure;
  const auto work = [&](Workgroup& workgroup) {
    for (std::uint64_t i = next++; i < count; i = next++) {
      const std::uint64_t number = order(i);
      const uint3 block = {static_cast<unsigned>(number % shape.grid.x),
                           static_cast<unsigned>(number / shape.grid.x % shape.grid.y),
                           static_cast<unsigned>(number / shape.grid.x / shape.grid.y)};
      if (auto found = workgroup.run(shape, block, body)) {
        const std::lock_guard lock(mutex);
        next = count;
        if (i < failed) failure = std::move(found);
        failed = std::min(failed, i);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < rooms.size(); ++i) others.emplace_back([&, i] { work(*rooms[i]); });
    work(*rooms[0]);
  }
  for (auto& room : rooms) {
    if (shape.counted_banks != nullptr) {
      const std::vector<CountedSite> sites = room->take_counted();
      if (counted != nullptr) counted->insert(counted->end(), sites.begin(), sites.end());
    }
    pool().give_back(std::move(room));
  }
  return failure;
}

}  // namespace hip_emulator
