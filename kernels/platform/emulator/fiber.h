// A fiber: a stack of its own that a thread can leave and come back to. A few nanoseconds a switch on x86-64,
// by a dozen instructions; ucontext elsewhere, and where HIP_EMULATOR_UCONTEXT is defined for all sources.
// AddressSanitizer and ThreadSanitizer are told of every switch.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) && !defined(HIP_EMULATOR_UCONTEXT)
#define HIP_EMULATOR_UCONTEXT
#endif
#if defined(HIP_EMULATOR_UCONTEXT)
#include <ucontext.h>
#endif

namespace hip_emulator {

/// Where a flow of control stands while it does not run: a fiber, or the thread that runs fibers.
class FiberContext {
 public:
  using Entry = void (*)();

  FiberContext() = default;
  ~FiberContext();
  FiberContext(const FiberContext&) = delete;
  FiberContext& operator=(const FiberContext&) = delete;

  /// Makes the next switch to this context call `entry` on the stack [stack, stack + bytes). `entry` never
  /// returns: it leaves for good. What ran on the stack before is forgotten, whether it left or not.
  void prepare(void* stack, std::size_t bytes, Entry entry);

  /// Leaves `from`, which is what runs now, and goes on with `to`.
  static void switch_between(FiberContext& from, FiberContext& to);

  /// The same, never to come back to `from`.
  [[noreturn]] static void leave_for_good(FiberContext& from, FiberContext& to);

  /// To be called first in an entry; `from` is the context that was left for it.
  static void entered(FiberContext& from);

 private:
  static void switch_stacks(FiberContext& from, FiberContext& to);

  void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
  void* tsan_fiber_ = nullptr;  // ThreadSanitizer's
  bool owns_tsan_fiber_ = false;
  bool has_left_ = false;  // for good
#if defined(HIP_EMULATOR_UCONTEXT)
  ucontext_t context_ = {};
#else
  void* stack_pointer_ = nullptr;
#endif
};

}  // namespace hip_emulator
