#include "kernels/platform/emulator/shared_memory.h"

#include <algorithm>

#include "kernels/platform/emulator/architecture.h"

namespace hip_emulator {
namespace {

constexpr std::size_t kMargin = 64 * 1024;  // on both sides: where a wrong index is still recognised
constexpr std::size_t kAlignment = 1024;

}  // namespace

SharedMemory::SharedMemory()
    : memory_(kMaxSharedBytes + 2 * kMargin + kAlignment),
      begin_(reinterpret_cast<std::uintptr_t>(memory_.data())),
      written_(kMaxSharedBytes + kWord),
      words_(kMaxSharedBytes / kWord + 1) {
  const std::uintptr_t block = (begin_ + kMargin + kAlignment - 1) / kAlignment * kAlignment;
  block_ = memory_.data() + (block - begin_);
}

void SharedMemory::reset(std::size_t bytes, int wave_size) {
  bytes_ = bytes;
  wave_size_ = static_cast<std::uint64_t>(wave_size);
  std::fill_n(written_.begin(), bytes, std::uint8_t{0});
}

Fault SharedMemory::touch_bytes(std::size_t first, std::size_t bytes, Access access, Stamp now) {
  for (std::size_t at = first; at < first + bytes; ++at) {
    if (access == Access::write) {
      written_[at] = 1;
    } else if (written_[at] == 0) {
      return Fault::unwritten;
    }
    if (!touch_word(words_[at / kWord], 1u << (at % kWord), access, now)) return Fault::race;
  }
  return Fault::none;
}

Fault SharedMemory::announce_write(std::uintptr_t address, std::size_t bytes, Stamp now) {
  const std::size_t first = address - reinterpret_cast<std::uintptr_t>(block_);
  if (first > bytes_ || bytes > bytes_ - first) return Fault::out_of_bounds;
  for (std::size_t at = first; at < first + bytes; ++at) {
    if (!touch_word(words_[at / kWord], 1u << (at % kWord), Access::write, now)) return Fault::race;
  }
  return Fault::none;
}

std::string SharedMemory::describe(Fault fault, std::uintptr_t address, std::size_t bytes,
                                   Access access) const {
  const auto offset = static_cast<std::int64_t>(address) - reinterpret_cast<std::int64_t>(block_);
  const std::string what = std::string(verb(access)) + " of " + std::to_string(bytes) + " bytes at offset " +
                           std::to_string(offset) + " of shared memory";
  switch (fault) {
    case Fault::none:
      break;
    case Fault::out_of_bounds:
      return "out of bounds: " + what + ", which is " + std::to_string(bytes_) + " bytes long";
    case Fault::unwritten:
      return "nothing was written there: " + what;
    case Fault::race:
      return "race: " + what + ", which lane " + std::to_string(conflict_.stamp.lane()) + " " +
             (conflict_.access == Access::read ? "read" : "wrote") + " with no barrier between";
  }
  return {};
}

}  // namespace hip_emulator
