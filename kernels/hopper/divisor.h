// Division by a number that is known before a kernel starts, by one multiplication: integer division is some
// thirty instructions, one after the other.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper {

/// With 2^(s - 1) < d <= 2^s and m = ceil(2^(31 + s) / d), n m / 2^(31 + s) is above n / d by less than 1 / d
/// where 0 <= n < 2^31, and so rounds down alike.
class Divisor {
 public:
  Divisor() = default;
  /// Of `value`, which is positive.
  explicit constexpr Divisor(int value) : value_(value) {
    while ((std::int64_t{1} << (shift_ - 31)) < value) ++shift_;
    const std::uint64_t power = std::uint64_t{1} << shift_;
    multiplier_ =
        static_cast<std::uint32_t>((power + static_cast<unsigned>(value) - 1) / static_cast<unsigned>(value));
  }

  FMHA_BWD_HOST_DEVICE constexpr int value() const { return value_; }
  /// n / value, for n >= 0.
  FMHA_BWD_HOST_DEVICE constexpr int quotient(int n) const {
    return static_cast<int>((static_cast<std::uint64_t>(static_cast<unsigned>(n)) * multiplier_) >> shift_);
  }

 private:
  int value_ = 1;
  std::uint32_t multiplier_ = std::uint32_t{1} << 31;
  int shift_ = 31;
};

}  // namespace fmha_bwd::FMHA_BWD_PLATFORM::hopper
