#include "base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

namespace fmha_bwd {
namespace {

// The published known answers of Philox4x32-10 (Random123's kat_vectors).
TEST(Random, PhiloxGivesItsKnownAnswers) {
  EXPECT_EQ(philox({{0, 0, 0, 0}}, 0, 0),
            (PhiloxWords{{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}}));
  EXPECT_EQ(philox({{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}}, 0xffffffffu, 0xffffffffu),
            (PhiloxWords{{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}}));
  EXPECT_EQ(philox({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u),
            (PhiloxWords{{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}}));
}

TEST(Random, PhiloxCanBeEvaluatedByTheCompiler) {
  static_assert(philox({{0, 0, 0, 0}}, 0, 0)[3] == 0x9b00dbd8u);
}

TEST(Random, SeedStreamAndPositionAreLaidOutLowWordFirst) {
  EXPECT_EQ(philox_quad(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u),
            philox({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u));
}

TEST(Random, StreamsSeedsAndPositionsDiffer) {
  const auto base = philox_quad(42, 0, 0);
  EXPECT_NE(philox_quad(42, 1, 0), base);
  EXPECT_NE(philox_quad(43, 0, 0), base);
  EXPECT_NE(philox_quad(42, 0, 1), base);
  EXPECT_NE(philox_quad(42 + (std::uint64_t{1} << 32), 0, 0), base);
  EXPECT_NE(philox_quad(42, 0, std::uint64_t{1} << 32), base);
}

TEST(Random, PortableLogIsTheLogarithmToAFewUlps) {
  for (double x = 0x1p-33; x < 16.0; x *= 1.0000917) {
    const double expected = std::log(x);
    const double tolerance =
        4.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(expected), 1e-3);
    ASSERT_TRUE(std::abs(portable_log(x) - expected) <= tolerance) << x;
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
}

std::uint32_t bits_of_probability(double p) { return static_cast<std::uint32_t>(p * 0x1p32); }

TEST(Random, NormalsAreTheQuantilesOfTheTables) {
  // The grid of p is 2^-32; the density at the quantile says how far that moves it.
  EXPECT_NEAR(normal_from_bits(bits_of_probability(0.975)), 1.959963984540054, 1e-8);
  EXPECT_NEAR(normal_from_bits(bits_of_probability(0.025)), -1.959963984540054, 1e-8);
  EXPECT_NEAR(normal_from_bits(bits_of_probability(0.75)), 0.674489750196082, 1e-8);
  EXPECT_NEAR(normal_from_bits(bits_of_probability(0.999)), 3.090232306167813, 1e-7);
  EXPECT_NEAR(normal_from_bits(bits_of_probability(1e-6)), -4.753424308822899, 1e-3);
}

TEST(Random, NormalsInvertTheDistributionFunction) {
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 40'000'003) {
    const double p = (static_cast<double>(bits) + 0.5) * 0x1p-32;
    const double z = normal_from_bits(static_cast<std::uint32_t>(bits));
    ASSERT_TRUE(std::abs(0.5 * std::erfc(-z / std::sqrt(2.0)) - p) <= 1e-14 + 1e-13 * p) << bits;
  }
}

TEST(Random, NormalsAreOddRisingAndBounded) {
  EXPECT_LT(std::abs(normal_from_bits(0)), 6.4);
  double before = -7.0;
  for (const std::uint32_t bits : {0u, 1u, 1000u, 0x10000000u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    EXPECT_GT(normal_from_bits(bits), before);
    before = normal_from_bits(bits);
    EXPECT_EQ(normal_from_bits(bits), -normal_from_bits(~bits));
  }
}

// These bits are the inputs of every report: a change here changes every checksum.
TEST(Random, NormalsHaveTheirPinnedBits) {
  const auto bits_of = [](std::uint32_t bits) {
    return std::bit_cast<std::uint64_t>(normal_from_bits(bits));
  };
  EXPECT_EQ(bits_of(0x00000000u), 0xc0195a1198fcf3d4u);  // -6.33795775455379
  EXPECT_EQ(bits_of(0x00000001u), 0xc018aa6c7fe07fdeu);  // -6.16642951781975
  EXPECT_EQ(bits_of(0x00100000u), 0xc00be596c509b3eeu);  // -3.48710397659169
  EXPECT_EQ(bits_of(0x20000000u), 0xbff267d4c0542895u);  // -1.15034937981048
  EXPECT_EQ(bits_of(0x7fffffffu), 0xbdf40d931ff62707u);  // -2.91809937291662e-10
  EXPECT_EQ(bits_of(0x80000000u), 0x3df40d931ff62707u);  // 2.91809937291662e-10
  EXPECT_EQ(bits_of(0xc0000000u), 0x3fe5956b8784e3d9u);  // 0.674489750562425
  EXPECT_EQ(bits_of(0xffffffffu), 0x40195a1198fcf3d4u);  // 6.33795775455379
}

TEST(Random, InputValuesHaveTheirPinnedBits) {
  const auto words = philox_quad(42, 0, 0);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(input_value(words[0], 0.1F)), 0x3ceb250du);  // 0.0287041906
  EXPECT_EQ(std::bit_cast<std::uint32_t>(input_value(words[1], 0.1F)), 0xbc0124f6u);  // -0.00788234733
  EXPECT_EQ(std::bit_cast<std::uint32_t>(input_value(words[2], 0.1F)), 0xbe14b2e8u);  // -0.145213723
  EXPECT_EQ(std::bit_cast<std::uint32_t>(input_value(words[3], 0.1F)), 0xbd27fb76u);  // -0.0410112962
}

TEST(Random, ALargeDrawHasTheMomentsOfANormal) {
  constexpr std::uint64_t kQuads = 250'000;
  double moments[5] = {};
  for (std::uint64_t quad = 0; quad < kQuads; ++quad) {
    for (const std::uint32_t word : philox_quad(7, 2, quad).words) {
      double power = 1.0;
      for (double& moment : moments) {
        moment += power / (4.0 * kQuads);
        power *= normal_from_bits(word);
      }
    }
  }
  // Five standard errors of a million draws: sqrt(1, 2, 15, 96) / 1000.
  EXPECT_NEAR(moments[1], 0.0, 0.005);
  EXPECT_NEAR(moments[2], 1.0, 0.0071);
  EXPECT_NEAR(moments[3], 0.0, 0.0194);
  EXPECT_NEAR(moments[4], 3.0, 0.049);
}

}  // namespace
}  // namespace fmha_bwd
