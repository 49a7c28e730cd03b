#include "reference/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

Problem problem_of(std::int64_t batch, std::int64_t heads, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  Problem problem;
  problem.batch = batch;
  problem.nhead_q = problem.nhead_k = heads;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  return problem;
}

MaskSpec mask_of(const std::string& name) { return masks_from(name).front(); }

std::int64_t all_rows(const RowSample& sample) {
  return std::accumulate(sample.classes.begin(), sample.classes.end(), std::int64_t{0},
                         [](std::int64_t sum, const RowClass& rows) { return sum + rows.rows; });
}

bool holds(const RowSample& sample, std::int64_t row) {
  return std::binary_search(sample.rows.begin(), sample.rows.end(), row);
}

const RowClass& class_of(const RowSample& sample, std::string_view name) {
  return *std::find_if(sample.classes.begin(), sample.classes.end(),
                       [&](const RowClass& rows) { return rows.name == name; });
}

/// Rows, of all and of the sample, in the order edge, boundary, inner.
std::vector<std::int64_t> rows_of(const RowSample& sample) {
  std::vector<std::int64_t> rows;
  for (const RowClass& of : sample.classes) rows.push_back(of.rows);
  return rows;
}
std::vector<std::int64_t> sampled_of(const RowSample& sample) {
  std::vector<std::int64_t> sampled;
  for (const RowClass& of : sample.classes) sampled.push_back(of.sampled);
  return sampled;
}

/// The edge rows that are neither in the first or the last tile nor at a boundary: those that a sample of
/// four times as many rows as there are edges has with every seed.
std::vector<std::int64_t> mask_edges(const Problem& problem, const std::string& mask, bool keys) {
  const Sample counted = choose_sample(problem, mask_of(mask), 1, 0);
  const std::int64_t edges = (keys ? counted.keys : counted.queries).classes.front().rows;
  std::vector<std::int64_t> always;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Sample sample = choose_sample(problem, mask_of(mask), 4 * edges, seed);
    const std::vector<std::int64_t>& rows = (keys ? sample.keys : sample.queries).rows;
    std::vector<std::int64_t> both;
    std::set_intersection(rows.begin(), rows.end(), always.begin(), always.end(), std::back_inserter(both));
    always = seed == 0 ? rows : both;
  }
  const std::int64_t length = keys ? problem.seqlen_k : problem.seqlen_q;
  std::erase_if(always, [&](std::int64_t row) {
    const bool boundary = row % 64 == 0 || row % 64 == 63;
    return row / 64 == 0 || row / 64 == (length - 1) / 64 || boundary;
  });
  return always;
}

TEST(Sample, CountsTheRowsOfEachClass) {
  // Ten tiles a head: two at the ends, and eight with two boundaries and 62 inner rows.
  const Sample sample = choose_sample(problem_of(3, 2, 640, 640), kNoMask, 100, 1);
  EXPECT_THAT(rows_of(sample.queries), ElementsAre(6 * 128, 6 * 16, 6 * 8 * 62));
  EXPECT_THAT(rows_of(sample.keys), ElementsAre(6 * 128, 6 * 16, 6 * 8 * 62));
  EXPECT_THAT(sample.queries.classes,
              ElementsAre(Field(&RowClass::name, "edge"), Field(&RowClass::name, "boundary"),
                          Field(&RowClass::name, "inner")));
  EXPECT_THAT(sample.bias.rows, IsEmpty());
  EXPECT_THAT(sample.bias.classes, IsEmpty());
}

TEST(Sample, AShortLastTileIsAnEdgeToo) {
  // Tiles 0..63, 64..127, 128..129.
  const Sample sample = choose_sample(problem_of(1, 1, 130, 64), kNoMask, 1, 1);
  EXPECT_THAT(rows_of(sample.queries), ElementsAre(66, 2, 62));
  EXPECT_THAT(rows_of(sample.keys), ElementsAre(64, 0, 0));
}

TEST(Sample, EdgesGetAQuarterBoundariesAHalfInnerRowsTheRest) {
  const Sample sample = choose_sample(problem_of(3, 2, 640, 640), kNoMask, 100, 1);
  EXPECT_THAT(sampled_of(sample.queries), ElementsAre(25, 50, 25));
}

TEST(Sample, WhatAClassDoesNotNeedGoesToTheBoundariesThenToTheInnerRowsThenToTheEdges) {
  const Problem problem = problem_of(1, 1, 640, 640);  // 128 edge, 16 boundary and 496 inner rows
  const auto sampled = [&](std::int64_t rows) {
    return sampled_of(choose_sample(problem, kNoMask, rows, 1).queries);
  };
  EXPECT_THAT(sampled(20), ElementsAre(5, 10, 5));
  EXPECT_THAT(sampled(40), ElementsAre(10, 16, 14));
  EXPECT_THAT(sampled(560), ElementsAre(128, 16, 416));
  EXPECT_THAT(sampled(512), ElementsAre(128, 16, 368));
  EXPECT_THAT(sampled(639), ElementsAre(128, 16, 495));
  // There are edges alone.
  EXPECT_THAT(sampled_of(choose_sample(problem_of(1, 1, 12, 12), kNoMask, 11, 1).queries),
              ElementsAre(11, 0, 0));
  // 128 edge, 2 boundary and 62 inner rows.
  EXPECT_THAT(sampled_of(choose_sample(problem_of(1, 1, 192, 192), kNoMask, 100, 1).queries),
              ElementsAre(36, 2, 62));
}

TEST(Sample, TakesEverythingWhereThereIsNoMore) {
  Problem problem = problem_of(2, 3, 150, 70);
  problem.bias = BiasShape::head;
  for (const std::int64_t rows : {900, 901, 1'000'000}) {
    const Sample sample = choose_sample(problem, kTopLeft, rows, 7);
    ASSERT_EQ(sample.queries.rows.size(), 900U);
    for (std::int64_t row = 0; row < 900; ++row) EXPECT_EQ(sample.queries.rows[row], row);
    EXPECT_EQ(sample.keys.rows.size(), 420U);
    EXPECT_EQ(sample.keys.rows.back(), 419);
    EXPECT_EQ(sample.bias.rows.size(), 450U);
    EXPECT_EQ(chance_missed(sample.queries, 0.001), 0.0);
  }
}

TEST(Sample, AllBoundariesOfALongProblemAreTaken) {
  const Problem problem = problem_of(1, 2, 131072, 131072);
  for (const char* mask : {"no_mask", "top_left", "bottom_right:4095,0", "prefix:1000"}) {
    const Sample sample = choose_sample(problem, mask_of(mask), 16384, 42);
    for (const RowSample* side : {&sample.queries, &sample.keys}) {
      EXPECT_EQ(side->rows.size(), 16384U);
      EXPECT_EQ(class_of(*side, "edge").sampled, class_of(*side, "edge").rows) << mask;
      EXPECT_EQ(class_of(*side, "boundary").sampled, class_of(*side, "boundary").rows) << mask;
      for (std::int64_t row = 0; row < 2 * 131072; ++row) {
        const bool boundary = row % 64 == 0 || row % 64 == 63;
        ASSERT_TRUE(!boundary || holds(*side, row)) << mask << " " << row;
      }
    }
  }
  EXPECT_THAT(rows_of(choose_sample(problem, kNoMask, 16384, 42).queries),
              ElementsAre(2 * 128, 8192 - 8, 2 * 2046 * 62));
}

TEST(Sample, TheMasksEdgesAreEdges) {
  // Sequences of 1000 rows: all below is away from the first and the last tile and from boundaries.
  const Problem square = problem_of(1, 1, 1000, 1000);
  const auto queries = [&](const char* mask) { return mask_edges(square, mask, false); };
  const auto keys = [&](const char* mask) { return mask_edges(square, mask, true); };
  EXPECT_THAT(queries("no_mask"), IsEmpty());
  EXPECT_THAT(queries("top_left"), IsEmpty());
  EXPECT_THAT(keys("top_left"), IsEmpty());
  // Query 300 is the last that sees key 0; key 699 is seen by the queries up to 999.
  EXPECT_THAT(queries("top_left:300,0"), ElementsAre(299, 300, 301));
  EXPECT_THAT(keys("top_left:300,0"), ElementsAre(698, 699, 700));
  // Query 799 is the first that sees the last key.
  EXPECT_THAT(queries("top_left:-1,200"), ElementsAre(798, 799, 800));
  EXPECT_THAT(keys("top_left:-1,200"), ElementsAre(199, 200, 201));
  // Up to query 199 all see 200 keys; key 199 is the last that all queries see, key 200 is seen from 200 on.
  EXPECT_THAT(queries("prefix:200"), ElementsAre(198, 199, 200));
  EXPECT_THAT(keys("prefix:200"), ElementsAre(198, 199, 200, 201));
  EXPECT_THAT(queries("document:300,400"), ElementsAre(298, 299, 300, 301, 698, 699, 700, 701));
  EXPECT_THAT(keys("document_causal:300"), ElementsAre(298, 299, 300, 301));
}

TEST(Sample, WhereEmptinessBeginsAndEndsIsAnEdge) {
  // Query 300 is the first that sees a key; with top_left, key 599 is the last that is seen.
  EXPECT_THAT(mask_edges(problem_of(1, 1, 1000, 700), "bottom_right", false),
              ElementsAre(298, 299, 300, 301));
  EXPECT_THAT(mask_edges(problem_of(1, 1, 600, 1000), "top_left", true), ElementsAre(598, 599, 600, 601));
  // Query i sees the keys i - 100 .. i: none from query 600 on.
  EXPECT_THAT(mask_edges(problem_of(1, 1, 1000, 500), "top_left:100,0", false),
              ElementsAre(99, 100, 101, 498, 499, 500, 598, 599, 600, 601));
}

TEST(Sample, ClassesAreDisjointAndCompleteForEveryMask) {
  std::vector<Problem> problems = {problem_of(2, 4, 200, 333), problem_of(1, 2, 333, 1)};
  problems.push_back(problem_of(1, 2, 1, 1));
  make_grouped(problems.back(), {300, 0, 65, 1, 0}, {64, 7, 0, 500, 0});
  problems.push_back(problem_of(1, 1, 1, 1));
  make_grouped(problems.back(), {0, 0}, {0, 0});
  for (Problem& problem : problems) {
    problem.nhead_k = 1;
    for (const BiasShape bias :
         {BiasShape::none, BiasShape::shared, BiasShape::head, BiasShape::batch, BiasShape::full}) {
      problem.bias = bias;
      const Shape lse = shape_of(TensorId::lse, problem);
      const Shape dk = shape_of(TensorId::dk, problem);
      const Shape dbias = bias == BiasShape::none ? Shape{} : shape_of(TensorId::dbias, problem);
      for (const char* mask :
           {"no_mask", "top_left", "bottom_right", "top_left:7,3", "bottom_right:5,0", "prefix:20",
            "document:10,20,30", "document_causal:1,1,64", "generic:-3,8", "generic:5,-2", "generic:0,0"}) {
        const Sample sample = choose_sample(problem, mask_of(mask), 100, 3);
        for (const auto& [side, shape] :
             {std::pair{&sample.queries, lse}, std::pair{&sample.keys, dk}, std::pair{&sample.bias, dbias}}) {
          const std::int64_t all = shape.rows();
          ASSERT_EQ(all_rows(*side), all) << mask;
          ASSERT_EQ(side->rows.size(), static_cast<std::size_t>(std::min<std::int64_t>(all, 100))) << mask;
          ASSERT_TRUE(std::is_sorted(side->rows.begin(), side->rows.end()));
          ASSERT_EQ(std::adjacent_find(side->rows.begin(), side->rows.end()), side->rows.end()) << mask;
          ASSERT_TRUE(all == 0 || (side->rows.front() >= 0 && side->rows.back() < all)) << mask;
          std::int64_t sampled = 0;
          for (const RowClass& rows : side->classes) {
            ASSERT_LE(rows.sampled, rows.rows);
            sampled += rows.sampled;
          }
          ASSERT_EQ(sampled, static_cast<std::int64_t>(side->rows.size()));
        }
      }
    }
  }
}

TEST(Sample, TilesOfAGroupBeginWithEachSequence) {
  Problem problem = problem_of(1, 2, 1, 1);
  make_grouped(problem, {1000, 0, 500}, {300, 10, 0});
  const Sample sample = choose_sample(problem, kNoMask, 100, 1);
  // 16 tiles, the last of 40 rows; 8 tiles, the last of 52 rows.
  EXPECT_THAT(rows_of(sample.queries), ElementsAre(2 * (104 + 116), 2 * (28 + 12), 2 * 62 * 20));
  // 5 tiles, the last of 44 rows; 10 rows.
  EXPECT_THAT(rows_of(sample.keys), ElementsAre(2 * (108 + 10), 2 * 6, 2 * 3 * 62));
  // Row 64 of the second head's third sequence is a boundary.
  const Sample most = choose_sample(problem, kNoMask, 400, 1);
  EXPECT_TRUE(holds(most.queries, 1500 + 1000 + 64));
  EXPECT_TRUE(holds(most.queries, 1500 + 1000 + 63 + 64));
}

TEST(Sample, RowsOfTheBiasAreAtTheEdgesOfTheSequencesThatShareThem) {
  Problem problem = problem_of(1, 3, 1, 1);
  make_grouped(problem, {1000, 100}, {10, 10});
  problem.bias = BiasShape::full;
  // The first sequence: 64 + 40 rows at its ends. The second: 100 rows at its ends, and two after them.
  EXPECT_THAT(rows_of(choose_sample(problem, kNoMask, 1, 1).bias),
              ElementsAre(3 * (104 + 102), 3 * (28 + 28), 3 * (2000 - 206 - 56)));
  problem.bias = BiasShape::head;
  EXPECT_THAT(rows_of(choose_sample(problem, kNoMask, 1, 1).bias), ElementsAre(3 * 142, 3 * 27, 3 * 831));
}

TEST(Sample, SeedsGiveTheirRowsAndSidesAndClassesHaveStreamsOfTheirOwn) {
  Problem problem = problem_of(1, 2, 640, 640);
  problem.bias = BiasShape::full;
  const Sample sample = choose_sample(problem, kNoMask, 40, 5);
  EXPECT_EQ(choose_sample(problem, kNoMask, 40, 5).queries.rows, sample.queries.rows);
  EXPECT_NE(choose_sample(problem, kNoMask, 40, 6).queries.rows, sample.queries.rows);
  EXPECT_NE(sample.keys.rows, sample.queries.rows);
  EXPECT_NE(sample.bias.rows, sample.queries.rows);
}

// Computed by a Python program with a Philox of its own.
TEST(Sample, HasItsPinnedRows) {
  const Sample sample = choose_sample(problem_of(1, 1, 640, 640), kNoMask, 12, 42);
  EXPECT_THAT(sample.queries.rows, ElementsAre(34, 62, 128, 191, 193, 255, 256, 366, 383, 384, 531, 621));
  EXPECT_THAT(sample.keys.rows, ElementsAre(44, 52, 102, 127, 129, 191, 192, 255, 511, 512, 524, 604));
}

/// Chi-square of how often the rows of one class are drawn, over its degrees of freedom times the variance
/// that drawing without replacement leaves.
double chi_square(const std::vector<std::int64_t>& counts, double expected, double share) {
  double sum = 0.0;
  for (const std::int64_t count : counts) {
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  }
  return sum / (1.0 - share) / static_cast<double>(counts.size() - 1);
}

TEST(Sample, DrawsUniformly) {
  const Problem problem = problem_of(1, 2, 320, 320);  // 256 edge, 12 boundary and 372 inner rows
  constexpr std::int64_t kSeeds = 4000;
  std::vector<std::int64_t> edge, boundary, inner;
  std::vector<std::int64_t> drawn(640);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const std::int64_t row : choose_sample(problem, kNoMask, 12, seed).queries.rows) ++drawn[row];
  }
  for (std::int64_t row = 0; row < 640; ++row) {
    const std::int64_t at = row % 320;
    const bool at_end = at < 64 || at >= 256;
    (at_end ? edge : at % 64 == 0 || at % 64 == 63 ? boundary : inner).push_back(drawn[row]);
  }
  // 3 of 256, 6 of 12 and 3 of 372; over 1 by five standard deviations, sqrt(2 / degrees),
  // is 1.44, 3.1, 1.37.
  EXPECT_LT(chi_square(edge, kSeeds * 3 / 256.0, 3 / 256.0), 1.44);
  EXPECT_LT(chi_square(boundary, kSeeds * 6 / 12.0, 6 / 12.0), 3.1);
  EXPECT_LT(chi_square(inner, kSeeds * 3 / 372.0, 3 / 372.0), 1.37);
  EXPECT_GT(chi_square(edge, kSeeds * 3 / 256.0, 3 / 256.0), 0.56);
  EXPECT_GT(chi_square(inner, kSeeds * 3 / 372.0, 3 / 372.0), 0.63);
}

TEST(Sample, PairsOfRowsAreDrawnTogetherAsOftenAsTheyShould) {
  const Problem problem = problem_of(1, 1, 5, 1);  // edges alone; two of five rows, ten pairs
  std::vector<std::int64_t> counts(10);
  constexpr std::int64_t kSeeds = 5000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<std::int64_t> rows = choose_sample(problem, kNoMask, 2, seed).queries.rows;
    ++counts[rows[1] * (rows[1] - 1) / 2 + rows[0]];
  }
  EXPECT_LT(chi_square(counts, kSeeds / 10.0, 0.0), 3.4);
}

TEST(Sample, APlantedFaultIsFoundAsOftenAsIsSaid) {
  const Problem long_problem = problem_of(1, 2, 8192, 8192);  // 508 boundaries, all in a sample of 1024
  constexpr std::int64_t kBoundary = 8192 + 77 * 64 - 1;
  constexpr std::int64_t kInner = 8192 + 77 * 64 + 5;
  std::int64_t boundary_found = 0;
  std::int64_t inner_found = 0;
  std::int64_t few_found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RowSample sample = choose_sample(long_problem, kBottomRight, 1024, seed).queries;
    ASSERT_EQ(chance_missed_one(class_of(sample, "boundary")), 0.0);
    boundary_found += holds(sample, kBoundary) ? 1 : 0;
  }
  EXPECT_EQ(boundary_found, 100);
  constexpr std::int64_t kSeeds = 2000;
  double inner_missed = 0.0;
  double boundary_missed = 0.0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RowSample sample = choose_sample(long_problem, kBottomRight, 400, seed).queries;
    inner_missed = chance_missed_one(class_of(sample, "inner"));
    boundary_missed = chance_missed_one(class_of(sample, "boundary"));
    inner_found += holds(sample, kInner) ? 1 : 0;
    few_found += holds(sample, kBoundary) ? 1 : 0;
  }
  // 100 of 2 * 126 * 62 inner rows, 200 of 504 boundaries.
  EXPECT_DOUBLE_EQ(inner_missed, 1.0 - 100.0 / 15624.0);
  EXPECT_DOUBLE_EQ(boundary_missed, 1.0 - 200.0 / 504.0);
  EXPECT_NEAR(static_cast<double>(inner_found), kSeeds * (1.0 - inner_missed), 5.0 * std::sqrt(12.8));
  EXPECT_NEAR(static_cast<double>(few_found), kSeeds * (1.0 - boundary_missed), 5.0 * std::sqrt(479.0));
}

TEST(Sample, OfAMillionRowsIsChosenInAMoment) {
  Problem problem = problem_of(8, 128, 131072, 131072);  // 134 million rows
  problem.nhead_k = 8;
  const auto start = std::chrono::steady_clock::now();
  const Sample sample = choose_sample(problem, mask_of("bottom_right:4095,0"), 1'000'000, 1);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(sample.queries.rows.size(), 1'000'000U);
  EXPECT_LT(seconds.count(), 20.0);  // about 0.5 s; a sanitizer on a busy machine takes many times that
  RecordProperty("milliseconds", static_cast<int>(1000.0 * seconds.count()));
}

}  // namespace
}  // namespace fmha_bwd
