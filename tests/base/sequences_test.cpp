#include "base/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

TEST(Sequences, InBatchModeEachIsABatchFromRow0) {
  Problem problem;
  problem.batch = 3;
  problem.seqlen_q = 5;
  problem.seqlen_k = 7;
  const std::vector<Sequence> sequences = sequences_of(problem);
  ASSERT_EQ(sequences.size(), 3u);
  for (std::int64_t b = 0; b < 3; ++b) {
    const Sequence& s = sequences[static_cast<std::size_t>(b)];
    EXPECT_EQ(s.batch, b);
    EXPECT_EQ(s.seqlen_q, 5);
    EXPECT_EQ(s.seqlen_k, 7);
    for (const std::int64_t start : {s.first_q, s.first_k, s.place_q, s.place_k}) EXPECT_EQ(start, 0);
  }
  EXPECT_EQ(device_rows_q(problem), 5);
  EXPECT_EQ(device_rows_k(problem), 7);
  EXPECT_FALSE(has_padding(problem));
}

TEST(Sequences, InBatchModeOneLengthPadsAll) {
  Problem problem;
  problem.seqlen_q = 5;
  problem.seqlen_k = 7;
  problem.padded_q = {5};
  problem.padded_k = {7};
  EXPECT_FALSE(has_padding(problem));
  problem.padded_k = {9};
  EXPECT_TRUE(has_padding(problem));
  EXPECT_EQ(device_rows_q(problem), 5);
  EXPECT_EQ(device_rows_k(problem), 9);
  EXPECT_EQ(sequences_of(problem)[1].place_k, 0);
}

TEST(Sequences, InGroupModeTheyFollowOneAnother) {
  Problem problem;
  make_grouped(problem, {3, 0, 5}, {2, 4, 0});
  EXPECT_TRUE(problem.grouped());
  EXPECT_EQ(problem.batch, 3);
  EXPECT_EQ(problem.seqlen_q, 5);
  EXPECT_EQ(problem.seqlen_k, 4);
  const std::vector<Sequence> s = sequences_of(problem);
  ASSERT_EQ(s.size(), 3u);
  for (const Sequence& sequence : s) EXPECT_EQ(sequence.batch, 0);
  EXPECT_EQ(s[0].first_q, 0);
  EXPECT_EQ(s[1].first_q, 3);
  EXPECT_EQ(s[2].first_q, 3);
  EXPECT_EQ(s[0].first_k, 0);
  EXPECT_EQ(s[1].first_k, 2);
  EXPECT_EQ(s[2].first_k, 6);
  EXPECT_EQ(s[1].seqlen_q, 0);
  EXPECT_EQ(s[2].seqlen_q, 5);
  EXPECT_EQ(s[2].seqlen_k, 0);
  EXPECT_EQ(s[2].place_q, 3);
  EXPECT_EQ(s[2].place_k, 6);
  EXPECT_EQ(device_rows_q(problem), 8);
  EXPECT_EQ(device_rows_k(problem), 6);
  EXPECT_FALSE(has_padding(problem));
}

TEST(Sequences, InGroupModePaddingMovesPlacesButNotFirstRows) {
  Problem problem;
  make_grouped(problem, {3, 0, 5}, {2, 4, 0});
  problem.padded_q = {4, 2, 5};
  const std::vector<Sequence> s = sequences_of(problem);
  EXPECT_EQ(s[1].place_q, 4);
  EXPECT_EQ(s[2].place_q, 6);
  EXPECT_EQ(s[2].first_q, 3);
  EXPECT_EQ(s[2].place_k, 6);
  EXPECT_EQ(device_rows_q(problem), 11);
  EXPECT_EQ(device_rows_k(problem), 6);
  EXPECT_TRUE(has_padding(problem));
}

}  // namespace
}  // namespace fmha_bwd
