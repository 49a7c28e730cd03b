// Device memory: allocations between red zones, and for every byte whether anything was written there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace hip_emulator {

/// One hipMalloc. Freed ones are kept for a while, so that a late use is seen.
struct Allocation {
  std::uintptr_t begin = 0;  // of the bytes that the program asked for
  std::size_t bytes = 0;
  bool freed = false;
  std::unique_ptr<std::uint8_t, void (*)(void*)> written{nullptr,
                                                         nullptr};  // a byte each: 1 where something was
  std::unique_ptr<void, void (*)(void*)> memory{nullptr, nullptr};

  static constexpr std::size_t kRedZone = 4096;  // on both sides
  bool holds(std::uintptr_t address) const {
    return address >= begin - kRedZone && address < begin + bytes + kRedZone;
  }
};

enum class Access { read, write, atomic };

class DeviceMemory {
 public:
  static DeviceMemory& instance();

  /// Nothing where fewer than `bytes` are free.
  void* allocate(std::size_t bytes);
  /// False where `pointer` is no allocation's begin.
  bool free(void* pointer);
  std::size_t total_bytes() const { return total_bytes_; }
  std::size_t free_bytes() const;

  /// Whether [pointer, pointer + bytes) lies in one live allocation.
  bool contains(const void* pointer, std::size_t bytes);
  /// Notes that the host wrote there; `contains` it.
  void mark_written(const void* pointer, std::size_t bytes);

  /// Looks at a kernel's access; what is wrong with it, or nothing. Addresses that are no device memory are
  /// let pass.
  std::optional<std::string> fault_of(std::uintptr_t address, std::size_t bytes, Access access);

 private:
  DeviceMemory();
  const Allocation* find(std::uintptr_t address);
  void forget_oldest();

  std::size_t total_bytes_;
  std::size_t used_bytes_ = 0;
  std::size_t kept_bytes_ = 0;  // of freed allocations
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Allocation>> allocations_;  // by begin
};

}  // namespace hip_emulator
