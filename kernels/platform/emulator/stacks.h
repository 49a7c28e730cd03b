// The stacks of a workgroup's fibers, with an inaccessible page below each.
#pragma once

#include <cstddef>

#include "kernels/platform/emulator/mapping.h"

namespace hip_emulator {

class FiberStacks {
 public:
  struct Stack {
    void* begin;
    std::size_t bytes;
  };

  /// Throws std::bad_alloc.
  explicit FiberStacks(std::size_t count);

  std::size_t count() const { return count_; }
  /// 60 to 64 KiB.
  Stack at(std::size_t index) const;

 private:
  // The stride is no power of two where pages have 4 KiB, and the tops of stacks differ within a page: were
  // their addresses alike, the fibers would push one another out of the caches at every switch.
  static constexpr std::size_t kBytes = 64 * 1024;
  static constexpr std::size_t kTops = 8;
  static constexpr std::size_t kTopStep = 512;
  static std::size_t stride() { return Mapping::page() + kBytes; }

  std::size_t count_;
  Mapping memory_;
};

}  // namespace hip_emulator
