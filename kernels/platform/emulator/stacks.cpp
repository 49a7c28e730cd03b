#include "kernels/platform/emulator/stacks.h"

namespace hip_emulator {

FiberStacks::FiberStacks(std::size_t count) : count_(count), memory_(count * (kGuardBytes + kBytes)) {
  for (std::size_t i = 0; i < count; ++i) memory_.protect(i * (kGuardBytes + kBytes), kGuardBytes);
}

void* FiberStacks::at(std::size_t index) const {
  return memory_.data() + index * (kGuardBytes + kBytes) + kGuardBytes;
}

}  // namespace hip_emulator
