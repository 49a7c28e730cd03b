#include "bench/holm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The example of pingouin's multicomp, method "holm".
TEST(Holm, GivesThePublishedAdjustedPValues) {
  EXPECT_THAT(
      holm({0.50, 0.003, 0.32, 0.054, 0.0003}),
      ElementsAre(DoubleEq(0.64), DoubleEq(0.012), DoubleEq(0.64), DoubleEq(0.162), DoubleEq(0.0015)));
}

// Wikipedia's example in "Holm-Bonferroni method": of 0.01, 0.04, 0.03, 0.005 the first and the last are
// rejected at 0.05. By hand: 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 * 1 raised to the one before.
TEST(Holm, RejectsInTheWorkedExampleTheTwoThatItSays) {
  EXPECT_THAT(holm({0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleEq(0.03), DoubleEq(0.06), DoubleEq(0.06), DoubleEq(0.02)));
}

TEST(Holm, LeavesASingleTestAlone) { EXPECT_THAT(holm({0.04}), ElementsAre(0.04)); }

TEST(Holm, IsNeverMoreThanOne) { EXPECT_THAT(holm({0.9, 0.8, 1.0}), ElementsAre(1.0, 1.0, 1.0)); }

TEST(Holm, OfNothingIsNothing) { EXPECT_THAT(holm({}), IsEmpty()); }

}  // namespace
}  // namespace fmha_bwd
