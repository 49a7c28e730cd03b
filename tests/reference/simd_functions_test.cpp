// exp, tanh and rounding on every instruction set of this CPU, against other implementations of them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "reference/simd/tiles.h"
#include "tests/reference/instruction_sets.h"

namespace fmha_bwd {
namespace {

using testing::WithInstructionSet;

template <typename Real>
using Limits = std::numeric_limits<Real>;

/// What is more precise than Real.
template <typename Real>
using Wider = std::conditional_t<std::is_same_v<Real, float>, double, long double>;

/// |value - exact| in units of the exact value's last place, or of the smallest normal number's. Infinity is
/// the number that would follow the largest one.
template <typename Real>
double ulps(Real value, Wider<Real> exact) {
  using W = Wider<Real>;
  const W limit = std::scalbn(W{1}, Limits<Real>::max_exponent);
  const auto bounded = [&](W x) { return std::min(limit, std::max(-limit, x)); };
  const W size = std::max(std::min(std::abs(exact), static_cast<W>(Limits<Real>::max())),
                          static_cast<W>(Limits<Real>::min()));
  const W unit = std::scalbn(W{1}, std::ilogb(size) - (Limits<Real>::digits - 1));
  return static_cast<double>(std::abs(bounded(static_cast<W>(value)) - bounded(exact)) / unit);
}

template <typename Real>
struct Worst {
  double ulps = 0.0;
  Real at = 0;
};

/// The largest error of values against exact(argument). NaN where one is.
template <typename Real, typename Exact>
Worst<Real> worst_of(const std::vector<Real>& arguments, const std::vector<Real>& values,
                     const Exact& exact) {
  Worst<Real> worst;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const double error = ulps(values[i], exact(static_cast<Wider<Real>>(arguments[i])));
    if (!(error <= worst.ulps)) worst = {error, arguments[i]};
    if (std::isnan(error)) break;
  }
  return worst;
}

template <typename Real>
void expect_at_most(double most, const Worst<Real>& worst) {
  EXPECT_TRUE(worst.ulps <= most) << worst.ulps << " at " << worst.at;
}

/// Every stride-th bit pattern of fp32, without NaN.
std::vector<float> spread_over_fp32(std::uint32_t stride) {
  std::vector<float> numbers;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride) {
    const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(number)) numbers.push_back(number);
  }
  return numbers;
}

/// Around the borders of the reduction by ln 2, where results become 0 or infinite, and near 0.
template <typename Real>
std::vector<Real> near_edges() {
  constexpr double kLn2 = 0.69314718055994530942;
  const auto least = static_cast<double>(Limits<Real>::min_exponent - Limits<Real>::digits - 2);
  const auto most = static_cast<double>(Limits<Real>::max_exponent + 1);
  std::vector<Real> numbers = {0,
                               Real{-0.0},
                               Limits<Real>::denorm_min(),
                               -Limits<Real>::denorm_min(),
                               Limits<Real>::min(),
                               -Limits<Real>::min(),
                               Limits<Real>::max(),
                               Limits<Real>::lowest(),
                               Limits<Real>::infinity(),
                               -Limits<Real>::infinity()};
  for (double halves = 2.0 * least; halves <= 2.0 * most; halves += 1.0) {
    auto below = static_cast<Real>(halves * kLn2 / 2.0);
    auto above = below;
    for (int i = 0; i < 40; ++i) {
      numbers.insert(numbers.end(), {below, above});
      below = std::nextafter(below, -Limits<Real>::infinity());
      above = std::nextafter(above, Limits<Real>::infinity());
    }
  }
  for (int exponent = Limits<Real>::min_exponent; exponent < 4; ++exponent) {
    for (const Real factor : {Real{1}, Real{1.375}, Real{1.875}}) {
      const Real number = std::scalbn(factor, exponent);
      numbers.insert(numbers.end(), {number, -number});
    }
  }
  return numbers;
}

/// Uniform in [-range, range].
std::vector<double> random_fp64(double range, std::size_t count) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> uniform(-range, range);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = uniform(engine);
  return numbers;
}

class Functions : public ::testing::TestWithParam<std::string> {
 protected:
  Functions() : set_(GetParam()) {}

 private:
  WithInstructionSet set_;
};
INSTANTIATE_TEST_SUITE_P(On, Functions, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& test) { return test.param; });

TEST_P(Functions, AreThoseOfTheInstructionSet) { EXPECT_EQ(instruction_set(), GetParam()); }

/// What vector_exp is to be near.
const auto kExp = [](auto x) {
  using W = decltype(x);
  constexpr bool kFp32 = std::is_same_v<W, Wider<float>>;
  if (x < (kFp32 ? W{-87} : W{-708})) return W{0};
  return x > (kFp32 ? W{88} : W{709}) ? Limits<W>::infinity() : std::exp(x);
};
const auto kTanh = [](auto x) { return std::tanh(x); };

TEST_P(Functions, ExpErrsByNoMoreThanItsUnitsInFp64) {
  for (const double range : {1e-3, 1.0, 30.0, 750.0}) {
    const std::vector<double> numbers = random_fp64(range, 200'000);
    expect_at_most(kExpUlps, worst_of(numbers, vector_exp(numbers), kExp));
  }
  const std::vector<double> edges = near_edges<double>();
  expect_at_most(kExpUlps, worst_of(edges, vector_exp(edges), kExp));
}

TEST_P(Functions, ExpErrsByNoMoreThanItsUnitsInFp32) {
  for (const std::vector<float>& numbers : {near_edges<float>(), spread_over_fp32(1999)}) {
    expect_at_most(kExpUlps, worst_of(numbers, vector_exp(numbers), kExp));
  }
}

template <typename Real>
void expect_exp_of_special_numbers() {
  constexpr Real kInfinity = Limits<Real>::infinity();
  EXPECT_EQ(vector_exp(std::vector<Real>{0, Real{-0.0}, Limits<Real>::denorm_min(), -Limits<Real>::min()}),
            std::vector<Real>(4, 1));
  EXPECT_EQ(vector_exp(std::vector<Real>{kInfinity, Limits<Real>::max(), 711}),
            std::vector<Real>(3, kInfinity));
  const std::vector<Real> zeros = vector_exp(std::vector<Real>{-kInfinity, Limits<Real>::lowest(), -751});
  EXPECT_EQ(zeros, std::vector<Real>(3, 0));
  for (const Real zero : zeros) EXPECT_FALSE(std::signbit(zero));
  EXPECT_TRUE(std::isnan(vector_exp(std::vector<Real>{Limits<Real>::quiet_NaN()})[0]));
}

TEST_P(Functions, ExpOfSpecialNumbersIsExact) {
  expect_exp_of_special_numbers<double>();
  expect_exp_of_special_numbers<float>();
}

TEST_P(Functions, ExpEndsNearTheEndsOfTheType) {
  const std::vector<double> fp64 = vector_exp(std::vector<double>{-708.0, -708.0000001, 709.0, 709.0000001});
  EXPECT_NEAR(fp64[0] / 0x1.7c8ab2288c9abp-1022, 1.0, 1e-15);
  EXPECT_EQ(fp64[1], 0.0);
  EXPECT_NEAR(fp64[2] / 0x1.d422d2be5dc9bp1022, 1.0, 1e-15);
  EXPECT_EQ(fp64[3], Limits<double>::infinity());
  const std::vector<float> fp32 = vector_exp(std::vector<float>{-87.0F, -87.00001F, 88.0F, 88.00001F});
  EXPECT_NEAR(fp32[0] / 1.6458115e-38F, 1.0, 1e-6);
  EXPECT_EQ(fp32[1], 0.0F);
  EXPECT_NEAR(fp32[2] / 1.6516363e38F, 1.0, 1e-6);
  EXPECT_EQ(fp32[3], Limits<float>::infinity());
}

/// The largest that was found is 2.7, in fp64.
constexpr double kTanhUlps = 3.0;

TEST_P(Functions, TanhErrsByThreeUnits) {
  for (const double range : {1e-3, 1.0, 25.0}) {
    const std::vector<double> numbers = random_fp64(range, 100'000);
    expect_at_most(kTanhUlps, worst_of(numbers, vector_tanh(numbers), kTanh));
  }
  const std::vector<double> edges = near_edges<double>();
  expect_at_most(kTanhUlps, worst_of(edges, vector_tanh(edges), kTanh));
  for (const std::vector<float>& numbers : {near_edges<float>(), spread_over_fp32(1999)}) {
    expect_at_most(kTanhUlps, worst_of(numbers, vector_tanh(numbers), kTanh));
  }
}

template <typename Real>
void expect_tanh_saturates() {
  constexpr Real kInfinity = Limits<Real>::infinity();
  const std::vector<Real> large = {20, 21, 100, 1000, Limits<Real>::max(), kInfinity};
  EXPECT_EQ(vector_tanh(large), std::vector<Real>(large.size(), 1));
  std::vector<Real> small;
  for (const Real number : large) small.push_back(-number);
  EXPECT_EQ(vector_tanh(small), std::vector<Real>(small.size(), -1));
  EXPECT_EQ(vector_tanh(std::vector<Real>{0, Real{-0.0}}), std::vector<Real>(2, 0));
  EXPECT_TRUE(std::isnan(vector_tanh(std::vector<Real>{Limits<Real>::quiet_NaN()})[0]));
}

TEST_P(Functions, TanhSaturates) {
  expect_tanh_saturates<double>();
  expect_tanh_saturates<float>();
}

TEST_P(Functions, TanhIsOddAndNeverBeyondOne) {
  const std::vector<double> numbers = random_fp64(25.0, 100'000);
  std::vector<double> negated;
  for (const double number : numbers) negated.push_back(-number);
  const std::vector<double> values = vector_tanh(numbers);
  const std::vector<double> others = vector_tanh(negated);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_LE(std::abs(values[i]), 1.0) << numbers[i];
    ASSERT_NEAR(others[i] / values[i], -1.0, 2.0 * kTanhUlps * Limits<double>::epsilon()) << numbers[i];
  }
}

TEST_P(Functions, OfCountsThatDoNotFillAVectorHaveAllTheirValues) {
  for (std::size_t count = 1; count < 20; ++count) {
    const std::vector<double> numbers = random_fp64(2.0, count);
    const std::vector<double> values = vector_exp(numbers);
    ASSERT_EQ(values.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(values[i], std::exp(numbers[i]), 1e-14);
  }
}

/// All numbers of fp32 with these lower halves.
std::vector<float> with_lower_half(std::uint32_t lower) {
  std::vector<float> numbers;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
  }
  return numbers;
}

TEST_P(Functions, RoundAllIsRoundTo) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    // The ties of bf16 and of fp16, what is beside them, and others.
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x0FFFU, 0x1000U, 0x1001U, 0x2000U, 0x3000U, 0x7000U,
                                      0x7FFFU, 0x8000U, 0x8001U, 0xABCDU, 0xEFFFU, 0xF000U, 0xFFFFU}) {
      const std::vector<float> numbers = with_lower_half(lower);
      std::vector<float> rounded = numbers;
      round_all(dtype, rounded.data(), static_cast<std::int64_t>(rounded.size()));
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const float expected = round_to(dtype, numbers[i]);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(rounded[i]));
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::bit_cast<std::uint32_t>(expected))
              << name_of(dtype) << " of " << numbers[i] << " is " << rounded[i] << ", not " << expected;
        }
      }
    }
  }
}

TEST_P(Functions, RoundAllRoundsSoManyAndNoMore) {
  constexpr float kNumber = 0.1F;
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    for (std::int64_t first = 0; first < 3; ++first) {
      for (std::int64_t count = 0; count < 40; ++count) {
        std::vector<float> numbers(50, kNumber);
        round_all(dtype, numbers.data() + first, count);
        for (std::int64_t i = 0; i < 50; ++i) {
          const bool within = i >= first && i < first + count;
          ASSERT_EQ(numbers[static_cast<std::size_t>(i)], within ? round_to(dtype, kNumber) : kNumber)
              << i << " of " << count;
        }
      }
    }
  }
}

TEST(InstructionSets, AreSeveralAndNamesThatAreNoneMeanTheWidest) {
  const std::vector<std::string> names = instruction_sets();
  ASSERT_FALSE(names.empty());
  const std::string widest = instruction_set();
  EXPECT_EQ(widest, names.front());
  {
    const WithInstructionSet narrowest(names.back());
    EXPECT_EQ(instruction_set(), names.back());
    EXPECT_GE(lanes_fp64(), 1);
  }
  EXPECT_EQ(instruction_set(), widest);
  EXPECT_EQ(kVectorBytes % (lanes_fp64() * static_cast<std::int64_t>(sizeof(double))), 0);
}

}  // namespace
}  // namespace fmha_bwd
