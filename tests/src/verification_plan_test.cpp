#include "src/verification_plan.h"

#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

/// One head of a thousand queries and keys: a million pairs, hdim_q 64, hdim_v 32, without a mask.
Options million_pairs() {
  Options options;
  Problem& problem = options.problem;
  problem.batch = problem.nhead_q = problem.nhead_k = 1;
  problem.seqlen_q = problem.seqlen_k = 1000;
  problem.hdim_q = 64;
  problem.hdim_v = 32;
  options.masks = {kNoMask};
  return options;
}

Options sampling(Options options, std::int64_t rows) {
  options.verify = VerifyHow::sample;
  options.sample_rows = rows;
  return options;
}

TEST(VerificationPlan, EstimatesTheWholeReference) {
  // 1.5 (2 (64 + 32) + 6 * 64 + 4 * 32) = 1056 FLOPs a pair.
  Options options = million_pairs();
  EXPECT_DOUBLE_EQ(plan_verification(options, 2, 1e9).full_seconds, 0.528);
  EXPECT_DOUBLE_EQ(plan_verification(options, 2, 1e9).estimated_seconds, 0.528);
  options.masks = {kNoMask, kTopLeft};  // and 500500 pairs
  EXPECT_DOUBLE_EQ(plan_verification(options, 2, 1e9).full_seconds, 0.528 * 1.5005);
  options.masks = {kNoMask};
  options.problem.bias = BiasShape::shared;  // and 1.5 * 2 (64 + 32)
  EXPECT_DOUBLE_EQ(plan_verification(options, 2, 1e9).full_seconds, 0.672);
  options.problem.batch = 3;
  options.problem.nhead_q = 4;
  EXPECT_DOUBLE_EQ(plan_verification(options, 2, 1e9).full_seconds, 12 * 0.672);
}

TEST(VerificationPlan, EstimatesASampleByItsRows) {
  // 250 rows see 1000 keys: 1.5 * 2 (3 * 64 + 2 * 32) FLOPs a pair; 250 keys are seen by 1000 queries:
  // 1.5 * 2 (2 * 64 + 2 * 32).
  Options options = million_pairs();
  EXPECT_DOUBLE_EQ(plan_verification(sampling(options, 250), 2, 1e9).estimated_seconds, 0.096 + 0.072);
  // Two query heads share a key head: 1000 rows of 4000, 1000 keys seen by 2000 queries.
  options.problem.nhead_q = 4;
  options.problem.nhead_k = 2;
  EXPECT_DOUBLE_EQ(plan_verification(sampling(options, 1000), 2, 1e9).estimated_seconds, 0.384 + 0.576);
  EXPECT_DOUBLE_EQ(plan_verification(sampling(options, 1000), 2, 1e9).full_seconds, 4 * 0.528);
  // All 2000 keys, no more.
  EXPECT_DOUBLE_EQ(plan_verification(sampling(options, 3000), 2, 1e9).estimated_seconds, 1.152 + 1.152);
  // 250 of the bias's 1000 rows, each of which all four heads share: 1.5 * 2 (64 + 32) a pair.
  options.problem.bias = BiasShape::shared;
  EXPECT_DOUBLE_EQ(plan_verification(sampling(options, 250), 2, 1e9).estimated_seconds,
                   0.096 + 0.144 + 0.144);
}

TEST(VerificationPlan, CountsTheSequencesOfAGroup) {
  Options options = million_pairs();
  make_grouped(options.problem, {1000, 0, 500}, {500, 100, 1000});
  EXPECT_DOUBLE_EQ(plan_verification(options, 2, 1e9).full_seconds, 0.528);
  // 150 of 1500 queries and 160 of 1600 keys.
  EXPECT_DOUBLE_EQ(plan_verification(sampling(options, 150), 2, 1e9).estimated_seconds,
                   0.384 / 10.0 + 0.288 * 150.0 / 1600.0);
}

TEST(VerificationPlan, IsFullUpToTheLimit) {
  const VerificationPlan quick = plan_verification(million_pairs(), 2, 1e9);
  EXPECT_EQ(quick.how, VerifyHow::full);
  EXPECT_EQ(quick.rows, 0);
  EXPECT_EQ(quick.reason, "estimated at under 1 s, the limit is 60 s");
  const VerificationPlan at_limit = plan_verification(million_pairs(), 1, 1.76e7);
  EXPECT_EQ(at_limit.full_seconds, 60.0);
  EXPECT_EQ(at_limit.how, VerifyHow::full);
  EXPECT_EQ(at_limit.reason, "estimated at 60 s, the limit is 60 s");
}

TEST(VerificationPlan, IsASampleBeyondTheLimit) {
  Options options = million_pairs();
  options.problem.batch = 100;  // 100000 rows
  // The full reference takes 105.6 s; 16384 rows of 100000 take (0.384 + 0.288) * 100 * 0.16384 s * 1e9 /
  // 5e8.
  const VerificationPlan plan = plan_verification(options, 2, 5e8);
  EXPECT_EQ(plan.how, VerifyHow::sample);
  EXPECT_EQ(plan.rows, 16384);
  EXPECT_DOUBLE_EQ(plan.full_seconds, 105.6);
  EXPECT_DOUBLE_EQ(plan.estimated_seconds, 0.16384 * 134.4);
  EXPECT_EQ(plan.reason, "full is estimated at 106 s, the limit is 60 s");
  // A tenth of the speed: 220 s, 110 s, 55 s.
  const VerificationPlan slower = plan_verification(options, 2, 5e7);
  EXPECT_EQ(slower.rows, 4096);
  EXPECT_DOUBLE_EQ(slower.estimated_seconds, 0.04096 * 1344.0);
  // No fewer than 256, however long they take.
  const VerificationPlan slowest = plan_verification(options, 2, 1e3);
  EXPECT_EQ(slowest.rows, 256);
  EXPECT_GT(slowest.estimated_seconds, 60.0);
}

TEST(VerificationPlan, IsFullWhereASampleWouldHaveAllRows) {
  Options options = million_pairs();
  EXPECT_EQ(plan_verification(sampling(options, 999), 1, 1e9).rows, 999);
  const VerificationPlan all = plan_verification(sampling(options, 1000), 1, 1e9);
  EXPECT_EQ(all.how, VerifyHow::full);
  EXPECT_EQ(all.rows, 0);
  EXPECT_DOUBLE_EQ(all.estimated_seconds, all.full_seconds);
  EXPECT_EQ(all.reason, "--verify sample:1000; 1000 rows would be all");
  // More rows than queries, but fewer than keys.
  options.problem.seqlen_q = 10;
  EXPECT_EQ(plan_verification(sampling(options, 500), 1, 1e9).how, VerifyHow::sample);
  // Slow, but of few rows.
  options = million_pairs();
  options.problem.seqlen_q = options.problem.seqlen_k = 200;
  const VerificationPlan slow = plan_verification(options, 1, 1e5);
  EXPECT_EQ(slow.how, VerifyHow::full);
  EXPECT_EQ(slow.reason, "full is estimated at 422 s, the limit is 60 s; 256 rows would be all");
}

TEST(VerificationPlan, DoesWhatItIsTold) {
  Options options = million_pairs();
  options.problem.batch = 100;
  options.verify = VerifyHow::full;
  const VerificationPlan full = plan_verification(options, 1, 1e6);
  EXPECT_EQ(full.how, VerifyHow::full);
  EXPECT_EQ(full.reason, "--verify full");
  EXPECT_DOUBLE_EQ(full.estimated_seconds, 105600.0);

  options.verify = VerifyHow::none;
  const VerificationPlan none = plan_verification(options, 1, 1e6);
  EXPECT_EQ(none.how, VerifyHow::none);
  EXPECT_EQ(none.reason, "--verify none");
  EXPECT_EQ(none.estimated_seconds, 0.0);

  const VerificationPlan rows = plan_verification(sampling(options, 50'000), 1, 1e3);
  EXPECT_EQ(rows.rows, 50'000);  // however long they take
  EXPECT_EQ(rows.reason, "--verify sample:50000");

  options.verify = VerifyHow::sample;
  EXPECT_EQ(plan_verification(options, 1, 1e9).rows, 16384);  // quick, but asked for
  EXPECT_EQ(plan_verification(options, 1, 1e9).reason, "--verify sample");
  EXPECT_EQ(plan_verification(options, 1, 1e8).rows, 4096);
}

TEST(VerificationPlan, TakesNoTimeWithoutPairs) {
  Options options = million_pairs();
  make_grouped(options.problem, {0}, {0});
  const VerificationPlan plan = plan_verification(options, 1, 1e9);
  EXPECT_EQ(plan.how, VerifyHow::full);
  EXPECT_EQ(plan.full_seconds, 0.0);
}

}  // namespace
}  // namespace fmha_bwd
