#include "base/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace fmha_bwd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The value of 16 bits by the definition of IEEE 754, with `fraction_bits` of them for the fraction.
double value_by_definition(std::uint16_t bits, int fraction_bits) {
  const int exponent_bits = 15 - fraction_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const double fraction = std::ldexp(bits & ((1 << fraction_bits) - 1), -fraction_bits);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction == 0.0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, exponent - bias);
}

TEST(DType, EveryHalfHasTheValueOfItsDefinitionAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double expected = value_by_definition(half.bits, 10);
    const float value = float_from_half(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(float_from_half(half_from_float(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << bits;
      ASSERT_EQ(half_from_float(value).bits, bits);
    }
  }
}

TEST(DType, EveryBfloat16HasTheValueOfItsDefinitionAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bfloat16 bfloat{static_cast<std::uint16_t>(bits)};
    const double expected = value_by_definition(bfloat.bits, 7);
    const float value = float_from_bfloat16(bfloat);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(float_from_bfloat16(bfloat16_from_float(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(bfloat16_from_float(value).bits, bits);
    }
  }
}

/// For every two neighbours: their midpoint goes to the even one, and the floats next to it to the nearer.
template <typename FromFloat>
void expect_ties_to_even(int fraction_bits, FromFloat bits_from_float) {
  const auto infinite = static_cast<std::uint32_t>(0x7fff >> fraction_bits << fraction_bits);
  for (std::uint32_t bits = 0; bits + 1 < infinite; ++bits) {
    const double low = value_by_definition(static_cast<std::uint16_t>(bits), fraction_bits);
    const double high = value_by_definition(static_cast<std::uint16_t>(bits + 1), fraction_bits);
    const auto middle = static_cast<float>((low + high) / 2.0);
    ASSERT_EQ(bits_from_float(middle), bits + bits % 2) << bits;
    ASSERT_EQ(bits_from_float(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(bits_from_float(std::nextafter(middle, kInfinity)), bits + 1);
    ASSERT_EQ(bits_from_float(-middle), 0x8000u | (bits + bits % 2));
  }
}

TEST(DType, HalvesRoundToTheNearestAndTiesToEven) {
  expect_ties_to_even(10, [](float x) { return std::uint32_t{half_from_float(x).bits}; });
}

TEST(DType, Bfloat16sRoundToTheNearestAndTiesToEven) {
  expect_ties_to_even(7, [](float x) { return std::uint32_t{bfloat16_from_float(x).bits}; });
}

TEST(DType, HalvesOverflowFromHalfwayPastTheLargest) {
  EXPECT_EQ(round_to(DType::fp16, 65519.996F), 65504.0F);
  EXPECT_EQ(round_to(DType::fp16, 65520.0F), kInfinity);
  EXPECT_EQ(round_to(DType::fp16, -65520.0F), -kInfinity);
  EXPECT_EQ(round_to(DType::fp16, 1e30F), kInfinity);
  EXPECT_EQ(round_to(DType::fp16, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(round_to(DType::fp16, kNaN)));
}

TEST(DType, Bfloat16sOverflowFromHalfwayPastTheLargest) {
  EXPECT_EQ(round_to(DType::bf16, 0x1.fep127F), 0x1.fep127F);
  EXPECT_EQ(round_to(DType::bf16, 0x1.fefffep127F), 0x1.fep127F);
  EXPECT_EQ(round_to(DType::bf16, 0x1.ffp127F), kInfinity);
  EXPECT_EQ(round_to(DType::bf16, -kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(round_to(DType::bf16, kNaN)));
}

TEST(DType, HalvesHaveSubnormals) {
  EXPECT_EQ(round_to(DType::fp16, 0x1p-24F), 0x1p-24F);
  EXPECT_EQ(round_to(DType::fp16, 0x1p-25F), 0.0F);
  EXPECT_EQ(round_to(DType::fp16, 0x1.000002p-25F), 0x1p-24F);
  EXPECT_TRUE(std::signbit(round_to(DType::fp16, -0x1p-25F)));
  EXPECT_EQ(round_to(DType::fp16, 0x1.ffcp-15F), 0x1p-14F);      // 1023.5 units of 2^-24
  EXPECT_EQ(round_to(DType::fp16, 0x1.ff9p-15F), 0x1.ff8p-15F);  // 1023.125
}

TEST(DType, Fp32IsLeftAsItIs) {
  for (const float x : {0.1F, 1e-45F, -3e38F}) EXPECT_EQ(round_to(DType::fp32, x), x);
}

#ifdef __FLT16_MAX__
TEST(DType, HalvesAgreeWithTheCompilersOwn) {
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 9973) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(half_from_float(value).bits, std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)))
        << value;
  }
}
#endif

TEST(DType, RoundingIsWithinItsUnitRoundoff) {
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    double largest = 0.0;
    for (float x = 1.0F; x < 2.0F; x += 0x1p-16F) {
      const auto error = std::abs(static_cast<double>(round_to(dtype, x)) - static_cast<double>(x));
      largest = std::max(largest, error / static_cast<double>(x));
      ASSERT_LE(error, unit_roundoff(dtype) * static_cast<double>(x));
    }
    EXPECT_GT(largest, 0.99 * unit_roundoff(dtype));
  }
  EXPECT_EQ(unit_roundoff(DType::fp32), 0x1p-24);
  EXPECT_EQ(subnormal_roundoff(DType::fp16), 0x1p-25);
  EXPECT_EQ(subnormal_roundoff(DType::bf16), 0x1p-134);
  EXPECT_EQ(subnormal_roundoff(DType::fp32), 0x1p-150);
}

TEST(DType, IsFoundByItsName) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
  }
  EXPECT_EQ(dtype_named("fp7"), std::nullopt);
  EXPECT_EQ(size_of(DType::fp16), 2u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::fp32), 4u);
}

}  // namespace
}  // namespace fmha_bwd
