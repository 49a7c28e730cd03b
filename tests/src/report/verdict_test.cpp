#include "src/report/verdict.h"

#include <gtest/gtest.h>

#include "tests/src/report/sample_run.h"

namespace fmha_bwd {
namespace {

TEST(Verdict, OfARunIsTheWorstOfItsMasks) {
  EXPECT_EQ(verdict_of(sample_run()), Verdict::passed);
  EXPECT_EQ(verdict_of(failed_run()), Verdict::failed);
  EXPECT_EQ(verdict_of(unverified_run()), Verdict::not_verified);
  RunResult half = sample_run();
  half.masks[0].verdicts.clear();
  EXPECT_EQ(verdict_of(half), Verdict::not_verified);
}

TEST(Verdict, OfNothingIsNotThatItPassed) {
  EXPECT_EQ(verdict_of(RunResult{}), Verdict::not_verified);
  EXPECT_EQ(conclusion(RunResult{}), "nothing ran");
}

TEST(Verdict, CountsTheDevicesReference) {
  EXPECT_EQ(verdict_of(third_opinion_run()), Verdict::failed);
  EXPECT_TRUE(has_wrong_numbers(third_opinion_run().masks.front()));
  EXPECT_EQ(verdict_of(third_opinion_run().masks.back()), Verdict::passed);
  MaskResult alone = third_opinion_run().masks.back();
  alone.verdicts.clear();
  EXPECT_EQ(verdict_of(alone), Verdict::not_verified);
}

TEST(Verdict, FailsWhereRunsDifferThatMustNot) {
  EXPECT_EQ(verdict_of(differing_run(true)), Verdict::failed);
  EXPECT_EQ(verdict_of(differing_run(false)), Verdict::passed);
  RunResult unverified = differing_run(true);
  for (MaskResult& mask : unverified.masks) mask.verdicts.clear();
  EXPECT_EQ(verdict_of(unverified), Verdict::failed);
}

TEST(Conclusion, TellsWrongNumbersFromRunsThatDiffer) {
  EXPECT_EQ(conclusion(differing_run(true)), "FAILED: 1 of 3 masks with runs that differ");
  EXPECT_EQ(conclusion(differing_run(false)), "passed: 3 of 3 masks agree with the fp64 reference");
  RunResult both = differing_run(true);
  both.masks[1] = failed_run().masks[1];
  EXPECT_EQ(conclusion(both), "FAILED: 2 of 3 masks with wrong numbers or runs that differ");
}

TEST(Conclusion, CountsTheMasks) {
  EXPECT_EQ(conclusion(sample_run()), "passed: 3 of 3 masks agree with the fp64 reference");
  EXPECT_EQ(conclusion(failed_run()), "FAILED: 1 of 3 masks with wrong numbers");
  EXPECT_EQ(conclusion(unverified_run()), "not verified: 3 masks ran unchecked");
  RunResult one = sample_run();
  one.masks.resize(1);
  EXPECT_EQ(conclusion(one), "passed: 1 of 1 mask agrees with the fp64 reference");
  EXPECT_EQ(conclusion(sampled_run()),
            "passed: 2 of 2 masks agree with the fp64 reference on a sample of rows");
}

TEST(Failure, SaysHowManyElementsOrWhichNormOrThatMemoryWasDamaged) {
  TensorVerdict verdict = passed_verdict(TensorId::dk, 0.5, 48);
  verdict.passed = false;
  verdict.wrong = 2;
  verdict.max_diff_budget = 0.25;
  EXPECT_EQ(failure_of(verdict, {}),
            "2 of 48 elements are wrong; largest difference 5.000e-01, allowed 2.500e-01");
  verdict.compared = 16;
  EXPECT_EQ(failure_of(verdict, {}),
            "2 of 16 elements are wrong; largest difference 5.000e-01, allowed 2.500e-01");
  verdict.wrong = 0;
  verdict.l2_diff = kNaN;
  EXPECT_EQ(failure_of(verdict, {}),
            "no single element is wrong; L2 norm of the difference nan, allowed 2.000e-03");
  verdict.l2_diff = 0.001;
  verdict.guard_damaged = true;
  EXPECT_EQ(failure_of(verdict, {}), "a kernel wrote after the tensor's end or into its padding");
}

}  // namespace
}  // namespace fmha_bwd
