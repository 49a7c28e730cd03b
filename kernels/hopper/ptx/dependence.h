// Launches that overlap the end of the one before (programmatic dependent launch; PTX ISA, "griddepcontrol").
#pragma once

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// Lets the next launch's blocks come as soon as all blocks of this one have been started and there is room,
/// and waits until the launches before this one have ended and what they wrote can be read. Every kernel
/// that launch.h starts begins with it.
__device__ __forceinline__ void follow_launch_before() {
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
}

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
