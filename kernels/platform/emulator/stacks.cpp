#include "kernels/platform/emulator/stacks.h"

namespace hip_emulator {

FiberStacks::FiberStacks(std::size_t count) : count_(count), memory_(count * kStride) {
  for (std::size_t i = 0; i < count; ++i) memory_.protect(i * kStride, kGuardBytes);
}

FiberStacks::Stack FiberStacks::at(std::size_t index) const {
  return {memory_.data() + index * kStride + kGuardBytes, kBytes - index % kTops * kTopStep};
}

}  // namespace hip_emulator
