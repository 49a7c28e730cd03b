// The stacks of a workgroup's fibers, with an inaccessible page below each.
#pragma once

#include <cstddef>

#include "kernels/platform/emulator/mapping.h"

namespace hip_emulator {

class FiberStacks {
 public:
  // One stack and its guard are a power of two: 64 KiB for a kernel's frames.
  static constexpr std::size_t kGuardBytes = Mapping::kPage;
  static constexpr std::size_t kBytes = 64 * 1024 - kGuardBytes;

  /// Throws std::bad_alloc.
  explicit FiberStacks(std::size_t count);

  std::size_t count() const { return count_; }
  void* at(std::size_t index) const;

 private:
  std::size_t count_;
  Mapping memory_;
};

}  // namespace hip_emulator
