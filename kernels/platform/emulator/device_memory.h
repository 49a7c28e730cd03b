// Device memory: a range of addresses, far larger than the memory, in which allocations stand wide apart and
// freed ones are not used again until the range is used up. For every byte of the range is known whether it
// is allocated and whether anything was written there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "kernels/platform/emulator/fault.h"
#include "kernels/platform/emulator/mapping.h"

namespace hip_emulator {

class DeviceMemory {
 public:
  /// The emulator's: half of the machine's memory, up to 64 GiB, and what a limit on addresses allows.
  static DeviceMemory& instance();
  /// Of `total_bytes`. Throws std::bad_alloc.
  explicit DeviceMemory(std::size_t total_bytes);

  /// Null where fewer than `bytes` are free.
  void* allocate(std::size_t bytes);
  /// False where `pointer` is no allocation's begin.
  bool free(void* pointer);
  std::size_t total_bytes() const { return total_bytes_; }
  std::size_t free_bytes() const;

  /// Whether [pointer, pointer + bytes) lies in one allocation.
  bool contains(const void* pointer, std::size_t bytes) const;
  /// What the host does there; `contains` all of it. A copy is as written as what it is a copy of.
  void copy_from_host(void* to, const void* from, std::size_t bytes);
  void copy(void* to, const void* from, std::size_t bytes);
  void set(void* to, int value, std::size_t bytes);

  bool concerns(std::uintptr_t address) const { return address - begin_ < addresses_.bytes(); }
  /// Notes an access of a kernel that `concerns` it.
  Fault touch(std::uintptr_t address, std::size_t bytes, Access access) {
    std::uint8_t* const state = state_of(address);
    if (bytes == 4 && address % 4 == 0) {
      if (__atomic_load_n(reinterpret_cast<std::uint32_t*>(state), __ATOMIC_RELAXED) ==
          0x01010101u * kWritten)
        return Fault::none;
    } else if (bytes % 8 == 0 && address % 8 == 0) {
      std::size_t good = 0;
      while (good < bytes && __atomic_load_n(reinterpret_cast<std::uint64_t*>(state + good),
                                             __ATOMIC_RELAXED) == kEightWritten)
        good += 8;
      if (good == bytes) return Fault::none;
    }
    return touch_bytes(state, bytes, access);
  }

  /// In words, what touch() has just found.
  std::string describe(Fault fault, std::uintptr_t address, std::size_t bytes, Access access) const;

 private:
  // Of a byte. An address that was never allocated has 0, as fresh pages have.
  static constexpr std::uint8_t kAllocated = 1;
  static constexpr std::uint8_t kWritten = 3;
  static constexpr std::uint64_t kEightWritten = 0x0101010101010101u * kWritten;

  using Allocations = std::map<std::uintptr_t, std::size_t>;  // bytes, by the first address

  static Fault touch_bytes(std::uint8_t* state, std::size_t bytes, Access access);
  std::uint8_t* state_of(std::uintptr_t address) const {
    return reinterpret_cast<std::uint8_t*>(states_.data()) + (address - begin_);
  }
  std::uint8_t* state_of(const void* pointer) const {
    return state_of(reinterpret_cast<std::uintptr_t>(pointer));
  }
  std::uintptr_t find_room(std::size_t bytes);

  std::size_t total_bytes_;
  Mapping addresses_;
  Mapping states_;  // one byte for each of addresses_
  std::uintptr_t begin_;
  std::uintptr_t next_;  // where to look for room
  std::size_t used_bytes_ = 0;
  mutable std::mutex mutex_;
  Allocations live_;
  Allocations freed_;  // whose addresses are not used again yet
};

}  // namespace hip_emulator
