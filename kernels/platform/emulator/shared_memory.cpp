#include "kernels/platform/emulator/shared_memory.h"

#include <algorithm>

#include "kernels/platform/emulator/architecture.h"

namespace hip_emulator {
namespace {

constexpr std::size_t kMargin = 64 * 1024;  // on both sides: where a wrong index is still recognised
constexpr std::size_t kAlignment = 1024;
constexpr std::size_t kWord = 4;

std::string at(std::int64_t offset, std::size_t bytes, const char* verb) {
  return std::string(verb) + " of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
         " of shared memory";
}

const char* verb_of(Access access) {
  return access == Access::read ? "read" : (access == Access::write ? "write" : "atomic operation");
}

}  // namespace

SharedMemory::SharedMemory()
    : memory_(kMaxSharedBytes + 2 * kMargin + kAlignment),
      begin_(reinterpret_cast<std::uintptr_t>(memory_.data())),
      written_(kMaxSharedBytes),
      words_(kMaxSharedBytes / kWord) {
  const std::uintptr_t block = (begin_ + kMargin + kAlignment - 1) / kAlignment * kAlignment;
  block_ = memory_.data() + (block - begin_);
}

void SharedMemory::reset(std::size_t bytes, int wave_size) {
  wave_size_ = wave_size;
  std::fill_n(written_.begin(), std::max(bytes, bytes_), std::uint8_t{0});
  bytes_ = bytes;
}

std::optional<std::string> SharedMemory::fault_of(std::uintptr_t address, std::size_t bytes, Access access,
                                                  const Stamp& stamp) {
  const auto offset = static_cast<std::int64_t>(address) - reinterpret_cast<std::int64_t>(block_);
  if (offset < 0 || static_cast<std::size_t>(offset) + bytes > bytes_) {
    return "out of bounds: " + at(offset, bytes, verb_of(access)) + ", which is " + std::to_string(bytes_) +
           " bytes long";
  }
  const auto first = static_cast<std::size_t>(offset);
  std::uint8_t* written = written_.data() + first;
  if (access != Access::write && std::find(written, written + bytes, 0) != written + bytes) {
    return "nothing was written there: " + at(offset, bytes, verb_of(access));
  }
  if (access != Access::read) std::fill_n(written, bytes, std::uint8_t{1});
  for (std::size_t word = first / kWord; word <= (first + bytes - 1) / kWord; ++word) {
    // The bytes of this word that the access touches, as bits.
    const std::size_t begin = std::max(first, word * kWord) - word * kWord;
    const std::size_t end = std::min(first + bytes, (word + 1) * kWord) - word * kWord;
    const auto touched = static_cast<std::uint8_t>((1u << end) - (1u << begin));
    if (auto race = race_at(word, touched, access, stamp)) return race;
  }
  return std::nullopt;
}

bool SharedMemory::ordered(const Stamp& before, const Stamp& now) const {
  if (before.barriers != now.barriers || before.lane == now.lane) return true;
  return before.lane / wave_size_ == now.lane / wave_size_ && before.wave_functions != now.wave_functions;
}

std::optional<std::string> SharedMemory::race_at(std::size_t index, std::uint8_t bytes, Access access,
                                                 const Stamp& stamp) {
  Word& word = words_[index];
  const auto report = [&](const Stamp& other, const char* what) {
    return std::string("race: ") + verb_of(access) + " of shared memory at offset " +
           std::to_string(index * kWord) + " by lane " + std::to_string(stamp.lane) + ", which lane " +
           std::to_string(other.lane) + " " + what + " with no barrier between";
  };
  if ((word.writer_bytes & bytes) != 0 && !ordered(word.writer, stamp) &&
      !(word.writer_is_atomic && access == Access::atomic)) {
    return report(word.writer, "wrote");
  }
  if (access == Access::read) {
    // A reader that a later write could still race with is kept, if there is room.
    const bool first_is_spent =
        word.readers[0].lane == stamp.lane || word.readers[0].barriers != stamp.barriers;
    const int slot = first_is_spent ? 0 : 1;
    const bool again = word.readers[slot].lane == stamp.lane && word.readers[slot].barriers == stamp.barriers;
    word.readers[slot] = stamp;
    word.reader_bytes[slot] = static_cast<std::uint8_t>(again ? word.reader_bytes[slot] | bytes : bytes);
    return std::nullopt;
  }
  for (int slot = 0; slot < 2; ++slot) {
    if ((word.reader_bytes[slot] & bytes) != 0 && !ordered(word.readers[slot], stamp)) {
      return report(word.readers[slot], "read");
    }
  }
  word.writer = stamp;
  word.writer_bytes = bytes;
  word.writer_is_atomic = access == Access::atomic;
  return std::nullopt;
}

}  // namespace hip_emulator
