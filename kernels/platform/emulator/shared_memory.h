// The shared memory of the workgroup that a thread runs, with what is known of each word: whether anything
// was written there, and who touched it last, so that reads of unwritten memory, accesses out of bounds and
// races are seen.
//
// A race is two accesses of one word by different lanes, one of them a write and not both atomic, with
// nothing between them that orders the lanes: a barrier, or for lanes of one wave a wave function. The last
// writer and two readers of a word are remembered: what is reported is a race; a race behind a third reader
// can be missed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/platform/emulator/device_memory.h"

namespace hip_emulator {

/// Who makes an access and when.
struct Stamp {
  std::uint32_t barriers = 0;        // that the workgroup has passed, from 1; 0: nobody yet
  std::uint16_t wave_functions = 0;  // that the lane's wave has done since
  std::uint16_t lane = 0;            // in the workgroup
};

class SharedMemory {
 public:
  SharedMemory();

  /// A fresh block of `bytes`, nothing written, for a workgroup of waves of `wave_size`.
  void reset(std::size_t bytes, int wave_size);
  void* data() { return block_; }
  /// Whether the address is in the block or so near that only a wrong index leads there.
  bool concerns(std::uintptr_t address) const { return address - begin_ < memory_.size(); }

  /// Looks at an access that `concerns` it; what is wrong with it, or nothing.
  std::optional<std::string> fault_of(std::uintptr_t address, std::size_t bytes, Access access,
                                      const Stamp& stamp);

 private:
  /// The last accesses of 4 bytes, each with the bytes that it touched.
  struct Word {
    Stamp writer;
    Stamp readers[2];
    std::uint8_t writer_bytes = 0;
    std::uint8_t reader_bytes[2] = {};
    bool writer_is_atomic = false;
  };

  bool ordered(const Stamp& before, const Stamp& now) const;
  std::optional<std::string> race_at(std::size_t word, std::uint8_t bytes, Access access, const Stamp& stamp);

  std::vector<std::byte> memory_;
  std::byte* block_;
  std::uintptr_t begin_;
  std::size_t bytes_ = 0;
  int wave_size_ = 64;
  std::vector<std::uint8_t> written_;  // one a byte
  std::vector<Word> words_;            // one for 4 bytes
};

}  // namespace hip_emulator
