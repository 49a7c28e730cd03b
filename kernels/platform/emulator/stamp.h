// When a lane did something, as far as its workgroup is concerned.
#pragma once

#include <cstdint>

namespace hip_emulator {

/// A lane and its two clocks, in one word: the barriers that the workgroup has passed, and the wave functions
/// that the lane's wave has done. Clocks run on from workgroup to workgroup, so that what one left behind is
/// old for the next.
class Stamp {
 public:
  Stamp() = default;
  Stamp(std::uint32_t barriers, std::uint32_t wave_functions, int lane)
      : bits_((std::uint64_t{barriers} << 32) |
              (std::uint64_t{wave_functions & kWaveFunctionMask} << kLaneBits) |
              static_cast<std::uint64_t>(lane)) {}

  int lane() const { return static_cast<int>(bits_ & kLaneMask); }
  bool operator==(const Stamp&) const = default;

  /// Whether a barrier lies between, whoever the lanes are.
  bool barrier_between(Stamp other) const { return ((bits_ ^ other.bits_) >> 32) != 0; }
  bool wave_function_between(Stamp other) const {
    return (((bits_ ^ other.bits_) >> kLaneBits) & kWaveFunctionMask) != 0;
  }
  bool same_wave(Stamp other, std::uint64_t wave_size) const {
    return ((bits_ ^ other.bits_) & kLaneMask) < wave_size;
  }
  /// Whether one happened before the other on every GPU: by the same lane, or with a barrier between, or a
  /// wave function between where both lanes are of one wave.
  bool ordered(Stamp other, std::uint64_t wave_size) const {
    if (barrier_between(other) || lane() == other.lane()) return true;
    return same_wave(other, wave_size) && wave_function_between(other);
  }

 private:
  static constexpr int kLaneBits = 10;
  static constexpr std::uint64_t kLaneMask = (1u << kLaneBits) - 1;
  static constexpr std::uint32_t kWaveFunctionMask = (1u << 22) - 1;

  std::uint64_t bits_ = 0;
};

}  // namespace hip_emulator
