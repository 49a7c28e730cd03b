// The shared memory of the workgroup that a thread runs, with what is known of each word: whether anything
// was written there, and who touched it last, so that reads of unwritten memory, accesses out of bounds and
// races are seen.
//
// A race is two accesses of one word by different lanes, one of them a write and not both atomic, with
// nothing between them that orders the lanes: a barrier, or for lanes of one wave a wave function. Of each
// word are remembered the last write to either half, and two reads. Whatever is reported is a race. A race
// can be missed only where lanes share half a word without sharing its bytes, where more than two lanes read
// parts of a word, or where one wave's lanes have read it in several steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/platform/emulator/fault.h"
#include "kernels/platform/emulator/stamp.h"

namespace hip_emulator {

class SharedMemory {
 public:
  SharedMemory();

  /// A fresh block of `bytes`, nothing written, for a workgroup of waves of `wave_size`.
  void reset(std::size_t bytes, int wave_size);
  void* data() const { return block_; }
  /// Whether the address is in the block or so near that only a wrong index leads there.
  bool concerns(std::uintptr_t address) const { return address - begin_ < memory_.size(); }

  /// Notes an access that `concerns` it.
  [[gnu::always_inline]] Fault touch(std::uintptr_t address, std::size_t bytes, Access access, Stamp now) {
    const std::size_t first = address - reinterpret_cast<std::uintptr_t>(block_);
    if (first > bytes_ || bytes > bytes_ - first) return Fault::out_of_bounds;
    if (bytes % kWord != 0 || first % kWord != 0) return touch_bytes(first, bytes, access, now);
    for (std::size_t at = first; at < first + bytes; at += kWord) {
      if (access == Access::write) {
        std::memset(&written_[at], 1, kWord);
      } else if (std::uint32_t flags; std::memcpy(&flags, &written_[at], kWord), flags != 0x01010101u) {
        return Fault::unwritten;
      }
      if (!touch_word(words_[at / kWord], 0xF, access, now)) return Fault::race;
    }
    return Fault::none;
  }

  /// Notes that something begins to write there that will be touched later: until then it is not written.
  Fault announce_write(std::uintptr_t address, std::size_t bytes, Stamp now);

  /// In words, what touch() has just found.
  std::string describe(Fault fault, std::uintptr_t address, std::size_t bytes, Access access) const;

 private:
  static constexpr std::size_t kWord = 4;

  /// The last accesses of a word, each with the bytes of it that were touched, as bits.
  struct Word {
    Stamp writers[2];  // of its halves
    Stamp readers[2];
    std::uint8_t writer_bytes[2] = {};
    std::uint8_t reader_bytes[2] = {};
    bool writer_is_atomic[2] = {};
  };
  static constexpr unsigned kHalf[2] = {0x3, 0xC};

  Fault touch_bytes(std::size_t first, std::size_t bytes, Access access, Stamp now);

  /// False where the access races with an earlier one, which conflict_ then is.
  [[gnu::always_inline]] bool touch_word(Word& word, unsigned bytes, Access access, Stamp now) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const bool both_atomic = word.writer_is_atomic[half] && access == Access::atomic;
      if (!word.writers[half].ordered(now, wave_size_) && (word.writer_bytes[half] & bytes) != 0 &&
          !both_atomic) {
        conflict_ = {word.writers[half], Access::write};
        return false;
      }
    }
    if (access == Access::read) {
      note_read(word, bytes, now);
      return true;
    }
#pragma GCC unroll 2
    for (int slot = 0; slot < 2; ++slot) {
      if (!word.readers[slot].ordered(now, wave_size_) && (word.reader_bytes[slot] & bytes) != 0) {
        conflict_ = {word.readers[slot], Access::read};
        return false;
      }
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      if ((bytes & kHalf[half]) == 0) continue;
      const bool again = word.writers[half] == now;
      word.writer_bytes[half] =
          static_cast<std::uint8_t>((bytes & kHalf[half]) | (again ? word.writer_bytes[half] : 0u));
      word.writers[half] = now;
      word.writer_is_atomic[half] = access == Access::atomic;
    }
    return true;
  }

  /// Keeps the two reads that a later write is most likely to race with: of two waves, or else of two lanes
  /// in the wave's latest step.
  [[gnu::always_inline]] void note_read(Word& word, unsigned bytes, Stamp now) const {
    const auto keep = [&](int slot) {
      const bool again = word.readers[slot] == now;
      word.readers[slot] = now;
      word.reader_bytes[slot] = static_cast<std::uint8_t>(again ? word.reader_bytes[slot] | bytes : bytes);
    };
    if (word.readers[0] == now) return keep(0);
    if (word.readers[0].barrier_between(now)) {
      word.reader_bytes[1] = 0;
      return keep(0);
    }
    if (!word.readers[0].same_wave(now, wave_size_)) return keep(1);
    if (word.readers[0].wave_function_between(now)) return keep(0);
    if (word.reader_bytes[1] == 0 || word.readers[1].same_wave(now, wave_size_)) keep(1);
  }

  std::vector<std::byte> memory_;
  std::byte* block_;
  std::uintptr_t begin_;
  std::size_t bytes_ = 0;
  std::uint64_t wave_size_ = 64;
  std::vector<std::uint8_t> written_;  // one a byte
  std::vector<Word> words_;
  struct {
    Stamp stamp;
    Access access;
  } conflict_ = {};
};

}  // namespace hip_emulator
