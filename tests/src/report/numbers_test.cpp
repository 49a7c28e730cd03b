#include "src/report/numbers.h"

#include <gtest/gtest.h>

#include "tests/src/report/sample_run.h"

namespace fmha_bwd {
namespace {

TEST(Numbers, AreRoundedForPeopleAndExactOnRequest) {
  const Numbers rounded;
  const Numbers full{true};
  EXPECT_EQ(rounded.scientific(1.0 / 3.0), "3.333e-01");
  EXPECT_EQ(full.scientific(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(rounded.scientific(-0.0), "0");
  EXPECT_EQ(rounded.extent({-0.5, 1e-9}), "[-5.000e-01, 1.000e-09]");
  EXPECT_EQ(rounded.percent(16448.0 / 24576.0, 2), "66.93%");
  EXPECT_EQ(full.percent(0.375, 2), "37.5%");
  EXPECT_EQ(rounded.rate(123.456), "123.5");
  EXPECT_EQ(rounded.rate(0.000159237), "1.59e-04");
}

TEST(Numbers, OfTimeKeepTheDigitsThatMatter) {
  const Numbers rounded;
  EXPECT_EQ(rounded.milliseconds(0.00214), "0.0021");
  EXPECT_EQ(rounded.milliseconds(12.3456), "12.346");
  EXPECT_EQ(rounded.milliseconds(123.456), "123.46");
  EXPECT_EQ(rounded.milliseconds(12345.67), "12345.7");
}

TEST(Numbers, BeyondTheFiniteSaySo) {
  const Numbers rounded;
  EXPECT_EQ(rounded.scientific(kNaN), "nan");
  EXPECT_EQ(rounded.extent({-kInfinity, kInfinity}), "[-inf, inf]");
  EXPECT_EQ(rounded.percent(kNaN, 0), "nan");
  EXPECT_EQ(exact(kInfinity), "inf");
}

TEST(Exact, IsTheShortestDecimalThatReadsBack) {
  EXPECT_EQ(exact(0.1F), "0.1");
  EXPECT_EQ(exact(0.1), "0.1");
  EXPECT_EQ(exact(0.088388346F), "0.088388346");
}

}  // namespace
}  // namespace fmha_bwd
