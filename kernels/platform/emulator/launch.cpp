#include "kernels/platform/emulator/launch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

namespace hip_emulator {
namespace {

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

Settings& current_settings() {
  static Settings settings = {static_cast<int>(number_in("FMHA_BWD_EMULATOR_THREADS").value_or(0)),
                              number_in("FMHA_BWD_EMULATOR_SEED")};
  return settings;
}

/// Workgroups that no thread uses now: their stacks and shared memory are kept from launch to launch.
class WorkgroupPool {
 public:
  std::unique_ptr<Workgroup> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Workgroup>();
    std::unique_ptr<Workgroup> workgroup = std::move(idle_.back());
    idle_.pop_back();
    return workgroup;
  }
  void give_back(std::unique_ptr<Workgroup> workgroup) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workgroup));
  }

 private:
  std::mutex mutex_;
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
    start_ = *seed % count;
    step_ = (*seed / count * 2654435761u + 1) % count;
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

std::optional<std::string> run_grid(LaunchShape shape, const std::function<void()>& body) {
  const Settings how = settings();
  shape.schedule_seed = how.schedule_seed;
  const std::uint64_t count = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const Permutation order(count, how.schedule_seed);

  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::optional<std::string> failure;
  const auto work = [&] {
    std::unique_ptr<Workgroup> workgroup = pool().take();
    for (std::uint64_t i = next++; i < count; i = next++) {
      const std::uint64_t number = order(i);
      const uint3 block = {static_cast<unsigned>(number % shape.grid.x),
                           static_cast<unsigned>(number / shape.grid.x % shape.grid.y),
                           static_cast<unsigned>(number / shape.grid.x / shape.grid.y)};
      if (auto failed = workgroup->run(shape, block, body)) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::move(failed);
        next = count;
      }
    }
    pool().give_back(std::move(workgroup));
  };

  const unsigned wanted =
      how.threads > 0 ? static_cast<unsigned>(how.threads) : std::thread::hardware_concurrency();
  const std::uint64_t threads = std::clamp<std::uint64_t>(wanted, 1, count);
  {
    std::vector<std::jthread> others;
    for (std::uint64_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  return failure;
}

}  // namespace hip_emulator
