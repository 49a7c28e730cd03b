#include "kernels/platform/emulator/stacks.h"

namespace hip_emulator {

FiberStacks::FiberStacks(std::size_t count) : count_(count), memory_(count * stride()) {
  for (std::size_t i = 0; i < count; ++i) memory_.protect(i * stride(), Mapping::page());
}

FiberStacks::Stack FiberStacks::at(std::size_t index) const {
  return {memory_.data() + index * stride() + Mapping::page(), kBytes - index % kTops * kTopStep};
}

}  // namespace hip_emulator
