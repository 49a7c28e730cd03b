#include "kernels/platform/emulator/fiber.h"

#include <utility>

#include "kernels/platform/emulator/sanitizer.h"

namespace hip_emulator {

#if !defined(HIP_EMULATOR_UCONTEXT)
extern "C" void hip_emulator_switch_stack(void** save, void* load);

// Saves what a called function must preserve, changes the stack, restores and returns there.
asm(R"(
.text
.globl hip_emulator_switch_stack
.type hip_emulator_switch_stack, @function
hip_emulator_switch_stack:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hip_emulator_switch_stack, .-hip_emulator_switch_stack
)");
#endif

FiberContext::~FiberContext() {
#if defined(FMHA_BWD_THREAD_SANITIZER)
  if (owns_tsan_fiber_) __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void FiberContext::prepare(void* stack, std::size_t bytes, Entry entry) {
  stack_ = stack;
  stack_bytes_ = bytes;
  fake_stack_ = nullptr;
  [[maybe_unused]] const bool had_left = std::exchange(has_left_, false);
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, bytes);
#endif
#if defined(FMHA_BWD_THREAD_SANITIZER)
  // A new one takes long. One that has not left knows functions that it will never return from.
  if (owns_tsan_fiber_ && !had_left) __tsan_destroy_fiber(tsan_fiber_);
  if (!owns_tsan_fiber_ || !had_left) tsan_fiber_ = __tsan_create_fiber(0);
  owns_tsan_fiber_ = true;
#endif
#if !defined(HIP_EMULATOR_UCONTEXT)
  // Six registers, then the entry as the address to return to, then nothing to return to from there: a stack
  // as it is after a call, 8 bytes off a multiple of 16.
  auto** top = reinterpret_cast<void**>(static_cast<std::byte*>(stack) + bytes);
  top[-1] = nullptr;
  top[-2] = reinterpret_cast<void*>(entry);
  for (int i = -8; i < -2; ++i) top[i] = nullptr;
  stack_pointer_ = &top[-8];
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
#endif
}

void FiberContext::switch_between(FiberContext& from, FiberContext& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_, to.stack_bytes_);
#endif
  switch_stacks(from, to);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
#endif
}

void FiberContext::leave_for_good(FiberContext& from, FiberContext& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, to.stack_, to.stack_bytes_);
#endif
  from.has_left_ = true;
  switch_stacks(from, to);
  __builtin_unreachable();
}

void FiberContext::switch_stacks(FiberContext& from, FiberContext& to) {
#if defined(FMHA_BWD_THREAD_SANITIZER)
  if (!from.owns_tsan_fiber_) from.tsan_fiber_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
#if !defined(HIP_EMULATOR_UCONTEXT)
  hip_emulator_switch_stack(&from.stack_pointer_, to.stack_pointer_);
#else
  swapcontext(&from.context_, &to.context_);
#endif
}

void FiberContext::entered([[maybe_unused]] FiberContext& from) {
#if defined(__SANITIZE_ADDRESS__)
  const void* stack = nullptr;
  __sanitizer_finish_switch_fiber(nullptr, &stack, &from.stack_bytes_);
  from.stack_ = const_cast<void*>(stack);
#endif
}

}  // namespace hip_emulator
