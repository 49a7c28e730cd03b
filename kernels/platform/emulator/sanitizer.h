// What the emulator tells AddressSanitizer and ThreadSanitizer in a build with one of them.
//
// In ThreadSanitizer's build only the kernel sources are instrumented by it, not the emulator: what the
// emulator shares between lanes is its own affair. Lanes are ordered where they meet, and nowhere else.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(FMHA_BWD_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>

extern "C" void __tsan_write16(void* address);  // what it calls before a store in instrumented sources
#endif

namespace hip_emulator {

// What happened before release(meeting) is visible after acquire(meeting). The address is only a name.
inline void release([[maybe_unused]] void* meeting) {
#if defined(FMHA_BWD_THREAD_SANITIZER)
  __tsan_release(meeting);
#endif
}
inline void acquire([[maybe_unused]] void* meeting) {
#if defined(FMHA_BWD_THREAD_SANITIZER)
  __tsan_acquire(meeting);
#endif
}

/// As if the lane that runs wrote 16 bytes there.
inline void announce_write([[maybe_unused]] void* address) {
#if defined(FMHA_BWD_THREAD_SANITIZER)
  __tsan_write16(address);
#endif
}

}  // namespace hip_emulator
