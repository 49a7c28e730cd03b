// Division by one multiplication.
#define FMHA_BWD_PLATFORM nvidia
#include "kernels/hopper/divisor.h"

#include <gtest/gtest.h>

#include <limits>

namespace fmha_bwd::nvidia::hopper {
namespace {

constexpr int kMax = std::numeric_limits<int>::max();

TEST(Divisor, RoundsDownAsDivisionDoes) {
  for (const int by : {1, 2, 3, 5, 7, 8, 96, 127, 128, 129, 1000, 65535, 65537, kMax / 2, kMax - 1, kMax}) {
    const Divisor divisor(by);
    ASSERT_EQ(divisor.value(), by);
    for (const int n : {0, 1, by - 1, by, kMax - by, kMax / by * by - 1, kMax / by * by, kMax - 1, kMax}) {
      ASSERT_EQ(divisor.quotient(n), n / by) << n << " / " << by;
    }
  }
}

TEST(Divisor, IsRightForEverySmallPair) {
  for (int by = 1; by < 400; ++by) {
    const Divisor divisor(by);
    for (int n = 0; n < 4000; ++n) ASSERT_EQ(divisor.quotient(n), n / by) << n << " / " << by;
  }
}

}  // namespace
}  // namespace fmha_bwd::nvidia::hopper
