// Whether two results of attention are the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "reference/attention.h"

namespace fmha_bwd::testing {

/// Every number of the statistics.
inline std::vector<double> numbers_of(const AttentionStatistics& statistics) {
  std::vector<double> numbers = {statistics.p_sparsity, statistics.d_range.min, statistics.d_range.max,
                                 statistics.max_score};
  std::vector<Magnitude> magnitudes = {statistics.sink_p, statistics.sink_p_d};
  for (const ScoreNorms* norms : {&statistics.rows, &statistics.columns}) {
    magnitudes.insert(magnitudes.end(), {norms->p, norms->p_slope, norms->kept, norms->ds, norms->dx});
  }
  for (const Magnitude& magnitude : magnitudes) {
    numbers.insert(numbers.end(), {magnitude.rms, magnitude.max});
  }
  return numbers;
}

/// All elements are equal.
template <typename Real>
void expect_same_outputs(const Problem& problem, const Attention<Real>& actual,
                         const Attention<Real>& expected, const std::string& what) {
  for (const TensorId id : outputs_of(problem)) {
    const auto [a, b] = std::mismatch(actual.of(id).begin(), actual.of(id).end(), expected.of(id).begin(),
                                      expected.of(id).end());
    EXPECT_TRUE(a == actual.of(id).end() && b == expected.of(id).end())
        << what << ": " << name_of(id) << " differs from element " << a - actual.of(id).begin() << " on";
  }
}

/// |error| <= tolerance * the largest finite size of what is expected, which counts as 1 at least.
inline void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                        double tolerance, std::string_view name) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  double largest = 1.0;
  for (const double x : expected) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    ASSERT_TRUE(std::abs(actual[i] - expected[i]) <= tolerance * largest)
        << name << "[" << i << "]: " << actual[i] << " is not " << expected[i];
  }
}

/// |a - b| <= tolerance * the larger of both.
inline void expect_near_statistics(const AttentionStatistics& actual, const AttentionStatistics& expected,
                                   double tolerance, const std::string& what) {
  const std::vector<double> a = numbers_of(actual), b = numbers_of(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(std::abs(a[i] - b[i]) <= tolerance * std::max(std::abs(a[i]), std::abs(b[i])))
        << what << ": statistic " << i << " is " << a[i] << ", not " << b[i];
  }
}

}  // namespace fmha_bwd::testing
