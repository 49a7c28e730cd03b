// The rows of a sample against the same rows of the whole reference.
#include "reference/sampled_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "reference/verify.h"
#include "tests/reference/feature_cases.h"
#include "tests/reference/same_attention.h"

namespace fmha_bwd {
namespace {

using ::testing::Each;
using testing::expect_near;

constexpr std::int64_t kAll = 1'000'000;

/// Those rows of a tensor.
template <typename Real>
std::vector<Real> rows_from(const std::vector<Real>& tensor, const std::vector<std::int64_t>& rows,
                            std::int64_t columns) {
  std::vector<Real> some;
  for (const std::int64_t row : rows) {
    const auto begin = tensor.begin() + row * columns;
    some.insert(some.end(), begin, begin + columns);
  }
  return some;
}

/// What a sample of those rows is to have of an output.
template <typename Real>
std::vector<Real> expected_of(TensorId id, const Problem& problem, const Attention<Real>& full,
                              const Sample& sample) {
  Reference reference;
  reference.sample = sample;
  const std::vector<std::int64_t>* rows = reference.rows_of(id);
  return rows == nullptr ? full.of(id) : rows_from(full.of(id), *rows, shape_of(id, problem).column);
}

template <typename Real>
KnownLseAndD known_of(const Attention<Real>& full) {
  return {{full.lse.begin(), full.lse.end()}, {full.d.begin(), full.d.end()}};
}

/// A problem and all of its results.
struct Whole {
  Whole(const Problem& a_problem, const MaskSpec& a_mask)
      : problem(a_problem),
        mask(a_mask),
        inputs(draw_inputs(problem, {.standard_deviation = 1.0F})),
        exact(exact_attention(problem, mask, inputs)),
        textbook(textbook_attention(problem, mask, inputs)) {}

  template <typename Real>
  Attention<Real> sampled(const Sample& sample, const KnownLseAndD& known) const {
    return sampled_attention<Real>(ScoreTerms(problem, mask, InputViews(inputs)), sample, known, {});
  }

  Problem problem;
  MaskSpec mask;
  AttentionInputs inputs;
  ExactAttention exact;
  TextbookAttention textbook;
};

/// LSE and D are known to fp32 alone, of keys, dBias and dSink.
void expect_rows(const Whole& whole, const Sample& sample, const std::string& what) {
  const ExactAttention exact = whole.sampled<double>(sample, known_of(whole.exact));
  for (const TensorId id : outputs_of(whole.problem)) {
    const bool of_queries =
        id == TensorId::o || id == TensorId::lse || id == TensorId::d || id == TensorId::dq;
    expect_near(exact.of(id), expected_of(id, whole.problem, whole.exact, sample), of_queries ? 1e-12 : 3e-6,
                what + std::string(name_of(id)));
  }
  // With the textbook's own LSE and D nothing is lost, and all sums go the same way.
  const TextbookAttention textbook = whole.sampled<float>(sample, known_of(whole.textbook));
  for (const TensorId id : outputs_of(whole.problem)) {
    EXPECT_EQ(textbook.of(id), expected_of(id, whole.problem, whole.textbook, sample)) << what << name_of(id);
  }
}

class Rows : public ::testing::TestWithParam<testing::FeatureCase> {};
// 200 queries and 240 keys.
INSTANTIATE_TEST_SUITE_P(SampledAttention, Rows, ::testing::ValuesIn(testing::feature_cases(40)),
                         testing::test_name);

TEST_P(Rows, AreThoseOfTheWholeReference) {
  const Whole whole(GetParam().problem, GetParam().mask);
  for (const std::int64_t rows : {1, 7, 64, 300}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      expect_rows(whole, choose_sample(whole.problem, whole.mask, rows, seed),
                  std::to_string(rows) + " rows, seed " + std::to_string(seed) + ": ");
    }
  }
  expect_rows(whole, choose_sample(whole.problem, whole.mask, kAll, 0), "all rows: ");
}

TEST_P(Rows, HaveTheStatisticsOfTheWholeWhereTheyAreAll) {
  const Whole whole(GetParam().problem, GetParam().mask);
  const Sample all = choose_sample(whole.problem, whole.mask, kAll, 0);
  const AttentionStatistics sampled = whole.sampled<double>(all, known_of(whole.exact)).statistics;
  AttentionStatistics expected = whole.exact.statistics;
  testing::expect_near_statistics(sampled, expected, 3e-6, "all of them");
  // The rows of queries owe nothing to LSE and D of fp32.
  AttentionStatistics of_queries = sampled;
  of_queries.columns = expected.columns = {};
  of_queries.sink_p = of_queries.sink_p_d = expected.sink_p = expected.sink_p_d = {};
  testing::expect_near_statistics(of_queries, expected, 1e-12, "those of queries");
}

/// Those rows alone.
Sample sample_of(std::vector<std::int64_t> queries, std::vector<std::int64_t> keys,
                 std::vector<std::int64_t> bias = {}) {
  return {{std::move(queries), {}}, {std::move(keys), {}}, {std::move(bias), {}}};
}

TEST(SampledAttention, TakesAnyRowsInTheirOrder) {
  Problem problem{2, 4, 2, 200, 170, 8, 12, DType::fp16, 0.4F};
  problem.bias = BiasShape::head;
  const Whole whole(problem, kBottomRight);
  // Of both sequences and several heads; ends of tiles and of heads.
  const Sample sample = sample_of({0, 3, 127, 128, 199, 200, 399, 400, 900, 1599},
                                  {0, 169, 170, 171, 300, 340, 510, 679}, {0, 199, 200, 401, 799});
  expect_rows(whole, sample, "");
  expect_rows(whole, sample_of({1599}, {679}, {799}), "the last rows: ");
}

TEST(SampledAttention, OfMoreRowsThanATileHas) {
  const Whole whole({1, 2, 1, 700, 700, 4, 4, DType::fp16, 0.5F}, kTopLeft);
  std::vector<std::int64_t> queries, keys;
  for (std::int64_t row = 0; row < 1400; row += 3) queries.push_back(row);
  for (std::int64_t row = 1; row < 700; row += 2) keys.push_back(row);
  expect_rows(whole, sample_of(queries, keys), "");
}

TEST(SampledAttention, OfNoRowsHasNothingButDSink) {
  Problem problem{1, 2, 2, 30, 40, 4, 4, DType::fp16, 0.5F};
  problem.bias = BiasShape::full;
  problem.sink = true;
  const Whole whole(problem, kTopLeft);
  const ExactAttention none = whole.sampled<double>(sample_of({}, {}), known_of(whole.exact));
  for (const TensorId id : outputs_of(problem)) {
    EXPECT_EQ(none.of(id).size(), id == TensorId::dsink ? 2U : 0U) << name_of(id);
  }
  expect_near(none.dsink, whole.exact.dsink, 3e-6, "dSink");
  EXPECT_EQ(none.statistics.p_sparsity, 0.0);
  EXPECT_EQ(none.statistics.rows.p.rms, 0.0);
  // One side alone.
  expect_rows(whole, sample_of({7}, {}), "a query: ");
  expect_rows(whole, sample_of({}, {7}), "a key: ");
  expect_rows(whole, sample_of({}, {}, {7}), "a row of dBias: ");
}

TEST(SampledAttention, RowsThatSeeNothingAreZeroBesideOthers) {
  const Whole whole({1, 1, 1, 200, 120, 4, 6, DType::fp16, 0.5F}, kBottomRight);
  const ExactAttention sampled =
      whole.sampled<double>(sample_of({0, 79, 80, 199}, {0, 119}), known_of(whole.exact));
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(sampled.lse[0], kNone);
  EXPECT_EQ(sampled.lse[1], kNone);
  EXPECT_GT(sampled.lse[2], kNone);
  const std::vector<double> o(sampled.o.begin(), sampled.o.begin() + 2 * 6);
  const std::vector<double> dq(sampled.dq.begin(), sampled.dq.begin() + 2 * 4);
  EXPECT_THAT(o, Each(0.0));
  EXPECT_THAT(dq, Each(0.0));
  EXPECT_EQ(sampled.d[0], 0.0);
  const Whole unseen({1, 1, 1, 100, 300, 4, 6, DType::fp16, 0.5F}, kTopLeft);
  const ExactAttention keys = unseen.sampled<double>(sample_of({}, {100, 101, 299}), known_of(unseen.exact));
  EXPECT_THAT(keys.dk, Each(0.0));
  EXPECT_THAT(keys.dv, Each(0.0));
}

TEST(SampledAttention, OfSequencesWithoutRows) {
  Problem problem{1, 2, 1, 1, 1, 4, 4, DType::fp16, 0.5F};
  problem.bias = BiasShape::full;
  problem.sink = true;
  make_grouped(problem, {0, 70, 0, 0, 3, 0}, {5, 0, 0, 80, 150, 0});
  for (const MaskSpec& mask : basic_masks()) {
    const Whole whole(problem, mask);
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{20}, std::int64_t{100}, kAll}) {
      expect_rows(whole, choose_sample(problem, mask, rows, 1), std::to_string(rows) + " rows: ");
    }
  }
  make_grouped(problem, {0, 0}, {0, 0});
  const Whole nothing(problem, kBottomRight);
  expect_rows(nothing, choose_sample(problem, kBottomRight, 10, 1), "nothing: ");
}

TEST(SampledAttention, TakesKeysFromTheKnownRowsAndQueriesFromTheirOwn) {
  const Whole whole({1, 1, 1, 150, 140, 4, 4, DType::fp16, 0.5F}, kNoMask);
  KnownLseAndD wrong = known_of(whole.exact);
  for (float& lse : wrong.lse) lse += 1.0F;
  for (float& d : wrong.d) d += 1.0F;
  const Sample sample = sample_of({3, 140}, {5});
  const ExactAttention sampled = whole.sampled<double>(sample, wrong);
  expect_near(sampled.dq, expected_of(TensorId::dq, whole.problem, whole.exact, sample), 1e-12, "dQ");
  const double e = std::exp(1.0);
  std::vector<double> dv = expected_of(TensorId::dv, whole.problem, whole.exact, sample);
  for (double& x : dv) x /= e;
  expect_near(sampled.dv, dv, 3e-6, "dV");
}

}  // namespace
}  // namespace fmha_bwd
