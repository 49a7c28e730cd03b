#include "kernels/platform/emulator/device_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace hip_emulator {
namespace {

// Between allocations: a wrong index has to be this wrong to be taken for another tensor's.
constexpr std::size_t kGap = std::size_t{1} << 20;
constexpr std::size_t kMaxTotalBytes = std::size_t{64} << 30;
constexpr std::size_t kAddressesPerByte = 4;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + Mapping::page() - 1) / Mapping::page() * Mapping::page();
}

std::size_t default_total_bytes() {
  const std::size_t physical = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * Mapping::page();
  rlimit addresses = {};
  getrlimit(RLIMIT_AS, &addresses);
  return std::min({physical / 2, kMaxTotalBytes, std::size_t{addresses.rlim_cur} / (4 * kAddressesPerByte)});
}

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  static DeviceMemory memory(default_total_bytes());
  return memory;
}

DeviceMemory::DeviceMemory(std::size_t total_bytes)
    : total_bytes_(total_bytes),
      addresses_(whole_pages(kAddressesPerByte * total_bytes)),
      states_(addresses_.bytes() + Mapping::page()),  // an access may begin in the last bytes
      begin_(reinterpret_cast<std::uintptr_t>(addresses_.data())),
      next_(begin_ + kGap) {}

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > total_bytes_ || used_bytes_ > total_bytes_ - bytes) return nullptr;
  const std::uintptr_t address = find_room(bytes);
  if (address == 0) return nullptr;
  live_[address] = bytes;
  std::memset(state_of(address), kAllocated, bytes);
  used_bytes_ += bytes;
  return reinterpret_cast<void*>(address);
}

std::uintptr_t DeviceMemory::find_room(std::size_t bytes) {
  const std::size_t room = whole_pages(std::max<std::size_t>(bytes, 1)) + kGap;
  for (int lap = 0; lap < 2; ++lap) {
    while (room <= begin_ + addresses_.bytes() - next_) {
      const auto after = live_.lower_bound(next_ + room);
      const auto last = after == live_.begin() ? live_.end() : std::prev(after);
      const std::uintptr_t end = last == live_.end() ? 0 : last->first + whole_pages(last->second) + kGap;
      if (end <= next_) {
        freed_.erase(freed_.lower_bound(next_), freed_.lower_bound(next_ + room));
        return std::exchange(next_, next_ + room);
      }
      next_ = end;
    }
    next_ = begin_ + kGap;
  }
  return 0;
}

bool DeviceMemory::free(void* pointer) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == live_.end()) return false;
  const std::size_t pages = whole_pages(found->second);
  addresses_.forget(found->first - begin_, pages);
  states_.forget(found->first - begin_, pages);
  used_bytes_ -= found->second;
  freed_.insert(live_.extract(found));
  return true;
}

std::size_t DeviceMemory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_bytes_ - used_bytes_;
}

bool DeviceMemory::contains(const void* pointer, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return address - begin <= size && bytes <= size - (address - begin);
}

void DeviceMemory::copy_from_host(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  std::memset(state_of(to), kWritten, bytes);
}

void DeviceMemory::copy(void* to, const void* from, std::size_t bytes) {
  std::memmove(to, from, bytes);
  std::memmove(state_of(to), state_of(from), bytes);
}

void DeviceMemory::set(void* to, int value, std::size_t bytes) {
  std::memset(to, value, bytes);
  std::memset(state_of(to), kWritten, bytes);
}

Fault DeviceMemory::touch_bytes(std::uint8_t* state, std::size_t bytes, Access access) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint8_t before = __atomic_load_n(state + i, __ATOMIC_RELAXED);
    if (before == 0) return Fault::out_of_bounds;
    if (before == kWritten) continue;
    if (access != Access::write) return Fault::unwritten;
    __atomic_store_n(state + i, kWritten, __ATOMIC_RELAXED);
  }
  return Fault::none;
}

std::string DeviceMemory::describe(Fault fault, std::uintptr_t address, std::size_t bytes,
                                   Access access) const {
  const std::string what = std::string(verb(access)) + " of " + std::to_string(bytes) + " bytes";
  const auto at = [&](std::uintptr_t begin, std::size_t size) {
    return what + " at offset " + std::to_string(static_cast<std::int64_t>(address - begin)) +
           " of a device allocation of " + std::to_string(size) + " bytes";
  };
  const std::lock_guard lock(mutex_);
  const auto after = live_.upper_bound(address);
  if (after != live_.begin()) {
    const auto& [begin, size] = *std::prev(after);
    if (fault == Fault::unwritten) return "nothing was written there: " + at(begin, size);
    if (address - begin < whole_pages(size) + kGap / 2) return "out of bounds: " + at(begin, size);
  }
  const auto after_freed = freed_.upper_bound(address);
  if (after_freed != freed_.begin()) {
    const auto& [begin, size] = *std::prev(after_freed);
    if (address - begin < size) return "use after free: " + at(begin, size);
  }
  if (after != live_.end() && after->first - address <= kGap) {
    return "out of bounds: " + at(after->first, after->second);
  }
  return "out of bounds: " + what + " where no device memory is allocated";
}

}  // namespace hip_emulator
