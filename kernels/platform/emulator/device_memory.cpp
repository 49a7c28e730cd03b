#include "kernels/platform/emulator/device_memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace hip_emulator {
namespace {

constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kMaxKeptBytes = std::size_t{64} << 20;

// A thread's own copy of the table, so that an access needs no lock. `generation` tells when it is stale.
std::atomic<std::uint64_t> generation{1};
struct Snapshot {
  std::uint64_t generation = 0;
  std::vector<const Allocation*> allocations;
};
thread_local Snapshot snapshot;

std::string in_allocation(const Allocation& allocation, std::uintptr_t address, std::size_t bytes,
                          const char* verb) {
  const auto offset = static_cast<std::int64_t>(address) - static_cast<std::int64_t>(allocation.begin);
  return std::string(verb) + " of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
         " of a device allocation of " + std::to_string(allocation.bytes) + " bytes";
}

bool all_written(const std::uint8_t* written, std::size_t bytes) {
  std::uint8_t every = 1;
  for (std::size_t i = 0; i < bytes; ++i) every &= __atomic_load_n(written + i, __ATOMIC_RELAXED);
  return every != 0;
}

void set_written(std::uint8_t* written, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) __atomic_store_n(written + i, std::uint8_t{1}, __ATOMIC_RELAXED);
}

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  static DeviceMemory memory;
  return memory;
}

DeviceMemory::DeviceMemory()
    : total_bytes_(static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                   static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 2) {}

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  // A byte costs two: itself, and whether it was written.
  if (bytes > total_bytes_ || used_bytes_ + bytes > total_bytes_) return nullptr;
  const std::size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment + 2 * kAlignment;
  std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(kAlignment, padded), std::free);
  auto* shadow = static_cast<std::uint8_t*>(std::calloc(bytes == 0 ? 1 : bytes, 1));
  if (!memory || shadow == nullptr) {
    std::free(shadow);
    return nullptr;
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->begin = reinterpret_cast<std::uintptr_t>(memory.get()) + Allocation::kRedZone;
  allocation->bytes = bytes;
  allocation->written = {shadow, std::free};
  allocation->memory = std::move(memory);
  void* const begin = reinterpret_cast<void*>(allocation->begin);
  allocations_.insert(std::upper_bound(allocations_.begin(), allocations_.end(), allocation,
                                       [](const auto& a, const auto& b) { return a->begin < b->begin; }),
                      std::move(allocation));
  used_bytes_ += bytes;
  generation.fetch_add(1);
  return begin;
}

bool DeviceMemory::free(void* pointer) {
  const std::unique_lock lock(mutex_);
  const auto found = std::find_if(allocations_.begin(), allocations_.end(), [&](const auto& allocation) {
    return allocation->begin == reinterpret_cast<std::uintptr_t>(pointer) && !allocation->freed;
  });
  if (found == allocations_.end()) return false;
  (*found)->freed = true;
  used_bytes_ -= (*found)->bytes;
  kept_bytes_ += (*found)->bytes;
  forget_oldest();
  generation.fetch_add(1);
  return true;
}

void DeviceMemory::forget_oldest() {
  for (auto it = allocations_.begin(); it != allocations_.end() && kept_bytes_ > kMaxKeptBytes;) {
    if ((*it)->freed) {
      kept_bytes_ -= (*it)->bytes;
      it = allocations_.erase(it);
    } else {
      ++it;
    }
  }
}

std::size_t DeviceMemory::free_bytes() const {
  const std::shared_lock lock(mutex_);
  return total_bytes_ - used_bytes_;
}

const Allocation* DeviceMemory::find(std::uintptr_t address) {
  if (snapshot.generation != generation.load(std::memory_order_relaxed)) {
    const std::shared_lock lock(mutex_);
    snapshot.generation = generation.load();
    snapshot.allocations.clear();
    for (const auto& allocation : allocations_) snapshot.allocations.push_back(allocation.get());
  }
  // The last allocation that begins, with its red zone, at or before the address.
  const auto after = std::upper_bound(snapshot.allocations.begin(), snapshot.allocations.end(), address,
                                      [](std::uintptr_t a, const Allocation* allocation) {
                                        return a < allocation->begin - Allocation::kRedZone;
                                      });
  if (after == snapshot.allocations.begin()) return nullptr;
  const Allocation* candidate = *(after - 1);
  return candidate->holds(address) ? candidate : nullptr;
}

bool DeviceMemory::contains(const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Allocation* allocation = find(address);
  return allocation != nullptr && !allocation->freed && address >= allocation->begin &&
         address + bytes <= allocation->begin + allocation->bytes;
}

void DeviceMemory::mark_written(const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Allocation* allocation = find(address);
  std::memset(allocation->written.get() + (address - allocation->begin), 1, bytes);
}

std::optional<std::string> DeviceMemory::fault_of(std::uintptr_t address, std::size_t bytes, Access access) {
  const Allocation* allocation = find(address);
  if (allocation == nullptr) return std::nullopt;
  const char* verb =
      access == Access::read ? "read" : (access == Access::write ? "write" : "atomic operation");
  if (allocation->freed) return "use after free: " + in_allocation(*allocation, address, bytes, verb);
  if (address < allocation->begin || address + bytes > allocation->begin + allocation->bytes) {
    return "out of bounds: " + in_allocation(*allocation, address, bytes, verb);
  }
  std::uint8_t* written = allocation->written.get() + (address - allocation->begin);
  if (access != Access::write && !all_written(written, bytes)) {
    return "nothing was written there: " + in_allocation(*allocation, address, bytes, verb);
  }
  if (access != Access::read) set_written(written, bytes);
  return std::nullopt;
}

}  // namespace hip_emulator
