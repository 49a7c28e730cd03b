// Things that are costly to make, handed from task to task.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fmha_bwd {

/// As many Ts as were ever in use at once. Safe to take from on several threads.
template <typename T>
class Pool {
 public:
  explicit Pool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  /// Gives the T back to its pool at the end of its life.
  class Lease {
   public:
    Lease(Pool& pool, std::unique_ptr<T> item) : pool_(pool), item_(std::move(item)) {}
    ~Lease() { pool_.put(std::move(item_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    T* operator->() const { return item_.get(); }

   private:
    Pool& pool_;
    std::unique_ptr<T> item_;
  };

  Lease take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<T> item = std::move(idle_.back());
        idle_.pop_back();
        return Lease(*this, std::move(item));
      }
      idle_.reserve(++made_);  // so that put() does not allocate
    }
    return Lease(*this, make_());
  }

 private:
  void put(std::unique_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(item));
  }

  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
  std::size_t made_ = 0;
};

}  // namespace fmha_bwd
