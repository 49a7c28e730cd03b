// How the emulator sees a kernel's memory accesses although the kernel sources are plain HIP: they are
// compiled with -fsanitize=thread, which calls one of these functions before each access, and linked without
// ThreadSanitizer, whose functions these would be. The tsan build links the real ones and has no memory
// checks.
//
// An access to anything but shared and device memory is a lane's own affair. What is called before an access
// is known to be right must not itself call an inline function that a kernel source may have too: the linker
// keeps one of them, perhaps the instrumented one.
#if !defined(FMHA_BWD_THREAD_SANITIZER)

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/platform/emulator/device_memory.h"
#include "kernels/platform/emulator/workgroup.h"

namespace hip_emulator {
namespace {

[[noreturn, gnu::noinline, gnu::cold]] void fail(Fault fault, std::uintptr_t address, std::size_t bytes,
                                                 Access access, const void* code) {
  SharedMemory& shared = current_workgroup->shared();
  Lane* const lane = current_lane;
  current_lane = nullptr;  // what follows is not the kernel's doing
  std::string what = shared.concerns(address)
                         ? shared.describe(fault, address, bytes, access)
                         : current_workgroup->device().describe(fault, address, bytes, access);
  current_lane = lane;
  current_workgroup->fail(std::move(what), code);
}

/// What look_at() does of shared memory, and notes the access for those who count them.
[[gnu::noinline, gnu::cold]] void look_and_count(std::uintptr_t address, std::size_t bytes, Access access,
                                                 const void* code) {
  SharedMemory& shared = current_workgroup->shared();
  Lane* const lane = current_lane;
  const Fault fault = shared.touch(address, bytes, access, lane->stamp);
  if (fault != Fault::none) fail(fault, address, bytes, access, code);
  if (bytes == 0) return;
  current_lane = nullptr;
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(shared.data());
  current_workgroup->counted()->note(*lane, {code, access, bytes}, offset);
  current_lane = lane;
}

[[gnu::always_inline]] inline void look_at(const volatile void* pointer, std::size_t bytes, Access access,
                                           const void* code) {
  Lane* const lane = current_lane;
  if (lane == nullptr) return;  // an inline function that the host uses too
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  SharedMemory& shared = current_workgroup->shared();
  DeviceMemory& device = current_workgroup->device();
  Fault fault = Fault::none;
  if (shared.concerns(address)) {
    if (current_workgroup->counted() != nullptr) [[unlikely]]
      return look_and_count(address, bytes, access, code);
    fault = shared.touch(address, bytes, access, lane->stamp);
  } else if (device.concerns(address)) {
    fault = device.touch(address, bytes, access);
  }
  if (fault != Fault::none) [[unlikely]]
    fail(fault, address, bytes, access, code);
}

}  // namespace
}  // namespace hip_emulator

using hip_emulator::Access;
using hip_emulator::look_at;

#define CODE __builtin_return_address(0)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define FMHA_BWD_ACCESS(bytes)                                                                        \
  void __tsan_read##bytes(void* address) { look_at(address, bytes, Access::read, CODE); }             \
  void __tsan_write##bytes(void* address) { look_at(address, bytes, Access::write, CODE); }           \
  void __tsan_unaligned_read##bytes(void* address) { look_at(address, bytes, Access::read, CODE); }   \
  void __tsan_unaligned_write##bytes(void* address) { look_at(address, bytes, Access::write, CODE); } \
  void __tsan_volatile_read##bytes(void* address) { look_at(address, bytes, Access::read, CODE); }    \
  void __tsan_volatile_write##bytes(void* address) { look_at(address, bytes, Access::write, CODE); }
FMHA_BWD_ACCESS(1)
FMHA_BWD_ACCESS(2)
FMHA_BWD_ACCESS(4)
FMHA_BWD_ACCESS(8)
FMHA_BWD_ACCESS(16)
#undef FMHA_BWD_ACCESS

void __tsan_read_range(void* address, std::size_t bytes) { look_at(address, bytes, Access::read, CODE); }
void __tsan_write_range(void* address, std::size_t bytes) { look_at(address, bytes, Access::write, CODE); }

// std::atomic in an instrumented source. The memory order is never weaker than asked for.
#define FMHA_BWD_ATOMIC(bits, type)                                                                         \
  type __tsan_atomic##bits##_load(const volatile type* a, int) {                                            \
    look_at(a, sizeof(type), Access::atomic, CODE);                                                         \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                         \
  void __tsan_atomic##bits##_store(volatile type* a, type value, int) {                                     \
    look_at(a, sizeof(type), Access::write, CODE);                                                          \
    __atomic_store_n(a, value, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                         \
  type __tsan_atomic##bits##_exchange(volatile type* a, type value, int) {                                  \
    look_at(a, sizeof(type), Access::atomic, CODE);                                                         \
    return __atomic_exchange_n(a, value, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                         \
  type __tsan_atomic##bits##_fetch_add(volatile type* a, type value, int) {                                 \
    look_at(a, sizeof(type), Access::atomic, CODE);                                                         \
    return __atomic_fetch_add(a, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                         \
  type __tsan_atomic##bits##_fetch_sub(volatile type* a, type value, int) {                                 \
    look_at(a, sizeof(type), Access::atomic, CODE);                                                         \
    return __atomic_fetch_sub(a, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                         \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* a, type* expected, type value, int,      \
                                                    int) {                                                  \
    look_at(a, sizeof(type), Access::atomic, CODE);                                                         \
    return __atomic_compare_exchange_n(a, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }                                                                                                         \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* a, type* expected, type value, int, int) { \
    look_at(a, sizeof(type), Access::atomic, CODE);                                                         \
    return __atomic_compare_exchange_n(a, expected, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }
FMHA_BWD_ATOMIC(8, std::uint8_t)
FMHA_BWD_ATOMIC(16, std::uint16_t)
FMHA_BWD_ATOMIC(32, std::uint32_t)
FMHA_BWD_ATOMIC(64, std::uint64_t)
#undef FMHA_BWD_ATOMIC

// What copies and loops over bytes are compiled to; string_functions.h gives them these names in kernel
// sources.
void* hip_emulator_memcpy(void* to, const void* from, std::size_t bytes) {
  look_at(from, bytes, Access::read, CODE);
  look_at(to, bytes, Access::write, CODE);
  return std::memcpy(to, from, bytes);
}
void* hip_emulator_memmove(void* to, const void* from, std::size_t bytes) {
  look_at(from, bytes, Access::read, CODE);
  look_at(to, bytes, Access::write, CODE);
  return std::memmove(to, from, bytes);
}
void* hip_emulator_memset(void* to, int value, std::size_t bytes) {
  look_at(to, bytes, Access::write, CODE);
  return std::memset(to, value, bytes);
}

}  // extern "C"

#endif
