// The chances that faults are missed by a sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "reference/sample.h"

namespace fmha_bwd {
namespace {

RowSample of_classes(const std::vector<std::pair<std::int64_t, std::int64_t>>& classes) {
  RowSample sample;
  for (const auto& [rows, sampled] : classes) sample.classes.push_back({"", rows, sampled});
  return sample;
}

/// C(n - f, s) / C(n, s), from the definition.
double missed_in_class(std::int64_t n, std::int64_t sampled, std::int64_t faulty) {
  const auto choose = [](std::int64_t a, std::int64_t b) {
    double ways = b > a ? 0.0 : 1.0;
    for (std::int64_t i = 0; i < b; ++i)
      ways = ways * static_cast<double>(a - i) / static_cast<double>(i + 1);
    return ways;
  };
  return choose(n - faulty, sampled) / choose(n, sampled);
}

TEST(ChanceMissed, OfOneFaultIsTheShareThatWasNotSampled) {
  EXPECT_DOUBLE_EQ(chance_missed_one({"inner", 8, 2}), 0.75);
  EXPECT_EQ(chance_missed_one({"inner", 8, 8}), 0.0);
  EXPECT_EQ(chance_missed_one({"inner", 8, 0}), 1.0);
  EXPECT_EQ(chance_missed_one({"inner", 0, 0}), 0.0);
}

TEST(ChanceMissed, ByHand) {
  // Two of four rows are faulty, and two are sampled: 2/4 * 1/3.
  EXPECT_DOUBLE_EQ(chance_missed(of_classes({{4, 2}}), 0.5), 1.0 / 6.0);
  // At least one row.
  EXPECT_DOUBLE_EQ(chance_missed(of_classes({{4, 2}}), 1e-9), 0.5);
  // A quarter of eight rows and a bit more are three.
  EXPECT_DOUBLE_EQ(chance_missed(of_classes({{8, 4}}), 0.26), 4.0 / 8.0 * 3.0 / 7.0 * 2.0 / 6.0);
  // Seven of a hundred, not eight, although 0.07 * 100 > 7 in floating point.
  EXPECT_GT(0.07 * 100, 7.0);
  EXPECT_NEAR(chance_missed(of_classes({{100, 50}}), 0.07), missed_in_class(100, 50, 7), 1e-12);
  // More faulty rows than are left out; none left out; no rows.
  EXPECT_EQ(chance_missed(of_classes({{4, 2}}), 0.75), 0.0);
  EXPECT_EQ(chance_missed(of_classes({{4, 4}, {2, 2}}), 1e-9), 0.0);
  EXPECT_EQ(chance_missed(RowSample{}, 0.5), 0.0);
  EXPECT_EQ(chance_missed(of_classes({{0, 0}, {0, 0}}), 0.5), 0.0);
}

TEST(ChanceMissed, FaultsOutsideAClassThatIsSampledFullyAreTheWorst) {
  // The two faulty rows are in the second class: 3/4 * 2/3.
  EXPECT_DOUBLE_EQ(chance_missed(of_classes({{4, 4}, {4, 1}}), 0.25), 0.5);
  // One in each: the first is most easily missed in the second class, 3/4, and 2/3 there is less than 7/10.
  EXPECT_DOUBLE_EQ(chance_missed(of_classes({{10, 3}, {4, 1}}), 2.0 / 14.0), 0.75 * 0.7);
}

TEST(ChanceMissed, IsTheWorstOfAllWaysToPlaceTheFaults) {
  for (std::int64_t a = 0; a <= 5; ++a) {
    for (std::int64_t b = 0; b <= 6; ++b) {
      for (std::int64_t c = 1; c <= 7; ++c) {
        for (std::int64_t sample = 0; sample < (a + 1) * (b + 1) * (c + 1); ++sample) {
          const std::int64_t sa = sample % (a + 1), sb = sample / (a + 1) % (b + 1),
                             sc = sample / (a + 1) / (b + 1);
          const RowSample rows = of_classes({{a, sa}, {b, sb}, {c, sc}});
          for (std::int64_t faulty = 1; faulty <= a + b + c; ++faulty) {
            double worst = 0.0;
            for (std::int64_t in_a = 0; in_a <= std::min(a, faulty); ++in_a) {
              for (std::int64_t in_b = 0; in_b <= std::min(b, faulty - in_a); ++in_b) {
                const std::int64_t in_c = faulty - in_a - in_b;
                if (in_c > c) continue;
                worst = std::max(worst, missed_in_class(a, sa, in_a) * missed_in_class(b, sb, in_b) *
                                            missed_in_class(c, sc, in_c));
              }
            }
            const double share = static_cast<double>(faulty) / static_cast<double>(a + b + c);
            ASSERT_NEAR(chance_missed(rows, share), worst, 1e-12)
                << a << "," << b << "," << c << " sampled " << sa << "," << sb << "," << sc << " faulty "
                << faulty;
          }
        }
      }
    }
  }
}

TEST(ChanceMissed, NeverFallsToZeroWhereTheFaultMayBeMissed) {
  const double chance = chance_missed(of_classes({{1'000'000, 500'000}}), 0.4);
  EXPECT_GT(chance, 0.0);
  EXPECT_LT(chance, 1e-299);
}

TEST(SampledRows, SayWhatTheSampleIsWorth) {
  Sample sample;
  sample.queries = of_classes({{4, 4}, {4, 1}, {0, 0}});
  sample.keys = of_classes({{4, 3}, {8, 8}, {1000, 500}});
  SampledRows rows = sampled_rows(sample);
  EXPECT_EQ(rows.queries.classes.at(1).sampled, 1);
  EXPECT_EQ(rows.queries.boundary_missed, 0.75);
  EXPECT_EQ(rows.queries.share_missed, 0.75);
  // A boundary may be among the edges. Two of 1012 rows: both are inner ones.
  EXPECT_EQ(rows.keys.boundary_missed, 0.25);
  EXPECT_DOUBLE_EQ(rows.keys.share_missed, 500.0 / 1000.0 * 499.0 / 999.0);
  EXPECT_FALSE(rows.bias.has_value());
  sample.bias = of_classes({{2, 2}, {2, 2}, {2, 2}});
  rows = sampled_rows(sample);
  EXPECT_EQ(rows.bias->boundary_missed, 0.0);
  EXPECT_EQ(rows.bias->share_missed, 0.0);
}

}  // namespace
}  // namespace fmha_bwd
