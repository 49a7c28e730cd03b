#include "base/alibi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;

TEST(Alibi, EightHeadsHaveThePublishedSlopes) {
  EXPECT_THAT(alibi_slopes(8), ElementsAre(1.0F / 2, 1.0F / 4, 1.0F / 8, 1.0F / 16, 1.0F / 32, 1.0F / 64,
                                           1.0F / 128, 1.0F / 256));
}

TEST(Alibi, SixteenHeadsHaveThemWithTheirGeometricMeansBetween) {
  const std::vector<float> slopes = alibi_slopes(16);
  ASSERT_EQ(slopes.size(), 16u);
  for (std::size_t head = 0; head < 16; ++head) {
    const double expected = std::pow(2.0, -0.5 * static_cast<double>(head + 1));
    EXPECT_EQ(slopes[head], static_cast<float>(expected)) << head;
  }
}

TEST(Alibi, TwelveHeadsHaveThoseOfEightAndEverySecondOfSixteen) {
  // 2^-1 ... 2^-8, and 2^-1/2, 2^-3/2, 2^-5/2, 2^-7/2.
  EXPECT_THAT(alibi_slopes(12),
              ElementsAre(0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F, 0.015625F, 0.0078125F, 0.00390625F,
                          0.70710678119F, 0.35355339059F, 0.17677669530F, 0.08838834765F));
}

TEST(Alibi, FewHeadsHaveSteepOnes) {
  EXPECT_THAT(alibi_slopes(1), ElementsAre(0x1p-8F));
  EXPECT_THAT(alibi_slopes(2), ElementsAre(0x1p-4F, 0x1p-8F));
  EXPECT_THAT(alibi_slopes(3), ElementsAre(0x1p-4F, 0x1p-8F, 0x1p-2F));
}

}  // namespace
}  // namespace fmha_bwd
