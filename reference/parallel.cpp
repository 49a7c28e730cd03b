#include "reference/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fmha_bwd {
namespace {

/// What the threads of one loop share.
class Loop {
 public:
  Loop(std::int64_t count, const std::function<void(std::int64_t)>& body) : count_(count), body_(body) {}

  /// Takes turns until none is left, and calls `after_turn` with the share done after each.
  template <typename AfterTurn>
  void work(const AfterTurn& after_turn) noexcept {
    try {
      for (std::int64_t index = next_++; index < count_; index = next_++) {
        body_(index);
        after_turn(static_cast<double>(++done_) / static_cast<double>(count_));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = count_;
    }
  }

  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::int64_t count_;
  const std::function<void(std::int64_t)>& body_;
  std::atomic<std::int64_t> next_ = 0;
  std::atomic<std::int64_t> done_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

int default_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body, const Workers& workers) {
  const int wanted = workers.threads > 0 ? workers.threads : default_threads();
  Loop loop(count, body);
  {
    std::vector<std::jthread> helpers;
    for (std::int64_t i = 1; i < std::min<std::int64_t>(wanted, count); ++i) {
      helpers.emplace_back([&loop] { loop.work([](double) {}); });
    }
    loop.work([&](double share) {
      if (workers.progress) workers.progress(share);
    });
  }
  loop.rethrow_failure();
  if (workers.progress) workers.progress(1.0);
}

Workers part_of(const Workers& workers, double begin, double end) {
  if (!workers.progress) return workers;
  return {workers.threads, [&progress = workers.progress, begin, end](double share) {
            progress(begin + (end - begin) * share);
          }};
}

}  // namespace fmha_bwd
