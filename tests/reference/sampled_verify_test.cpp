// Verdicts of a sample's rows, and of all rows against another implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "reference/verify.h"
#include "tests/reference/planted_fault.h"

namespace fmha_bwd {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Problem problem_of_everything() {
  Problem problem{2, 4, 2, 200, 170, 16, 8, DType::fp16, 0.25F};
  problem.bias = BiasShape::head;
  problem.sink = true;
  return problem;
}

class SampledVerify : public ::testing::Test {
 protected:
  const std::vector<std::int64_t>& rows_of(TensorId id) const { return *reference_.rows_of(id); }
  std::int64_t rows(TensorId id) const { return shape_of(id, device_.problem()).rows(); }
  std::int64_t columns(TensorId id) const { return shape_of(id, device_.problem()).column; }
  /// The first row from `row` on that is not in the sample.
  std::int64_t unsampled(TensorId id, std::int64_t row) const {
    while (std::binary_search(rows_of(id).begin(), rows_of(id).end(), row)) ++row;
    return row;
  }
  TensorVerdict verdict_with(TensorId id, std::int64_t element, float difference) const {
    return verify(id, device_.output_with(id, element, difference), reference_);
  }

  testing::SoundDevice device_{problem_of_everything(), kBottomRight};
  Reference reference_ = device_.reference(device_.sample(100, 1));
  const std::vector<TensorId> sampled_ = {TensorId::o,  TensorId::lse, TensorId::d,    TensorId::dq,
                                          TensorId::dk, TensorId::dv,  TensorId::dbias};
};

TEST_F(SampledVerify, PassesWhatIsSound) {
  for (const TensorId id : outputs_of(device_.problem())) {
    const TensorVerdict verdict = verify(id, device_.output(id), reference_);
    EXPECT_TRUE(verdict.passed) << name_of(id);
    EXPECT_EQ(verdict.elements, shape_of(id, device_.problem()).elements());
    EXPECT_EQ(verdict.compared, id == TensorId::dsink ? 4 : 100 * columns(id)) << name_of(id);
    EXPECT_EQ(verdict.unwritten, 0);
    EXPECT_FALSE(verdict.guard_damaged);
  }
}

TEST_F(SampledVerify, FindsAFaultInASampledRowWhereItIs) {
  for (const TensorId id : sampled_) {
    for (const std::size_t n : {0U, 41U, 99U}) {
      const std::int64_t element = (rows_of(id)[n] + 1) * columns(id) - 1;
      const TensorVerdict verdict = verdict_with(id, element, 9.0F);
      EXPECT_FALSE(verdict.passed) << name_of(id);
      EXPECT_EQ(verdict.wrong, 1);
      ASSERT_EQ(verdict.worst.size(), 1U) << name_of(id);
      EXPECT_EQ(verdict.worst[0].index, shape_of(id, device_.problem()).index_of(element)) << name_of(id);
      EXPECT_NEAR(verdict.worst[0].actual - verdict.worst[0].expected, 9.0, 0.1);
    }
  }
}

TEST_F(SampledVerify, DoesNotSeeAFaultInAnotherRow) {
  for (const TensorId id : sampled_) {
    const TensorVerdict verdict = verdict_with(id, unsampled(id, rows(id) / 2) * columns(id), 9.0F);
    EXPECT_TRUE(verdict.passed) << name_of(id);
    EXPECT_EQ(verdict.wrong, 0);
  }
}

TEST_F(SampledVerify, FindsANaNInAnyRow) {
  for (const TensorId id : sampled_) {
    const TensorVerdict outside = verdict_with(id, unsampled(id, rows(id) / 2) * columns(id), kNaN);
    EXPECT_FALSE(outside.passed) << name_of(id);
    EXPECT_EQ(outside.unwritten, 1);
    EXPECT_EQ(outside.wrong, 0);
    const TensorVerdict inside = verdict_with(id, rows_of(id)[50] * columns(id), kNaN);
    EXPECT_FALSE(inside.passed) << name_of(id);
    EXPECT_EQ(inside.unwritten, 0);
    EXPECT_EQ(inside.wrong, 1);
  }
}

TEST_F(SampledVerify, ComparesAllOfDSink) {
  for (std::int64_t head = 0; head < 4; ++head) {
    const TensorVerdict verdict = verdict_with(TensorId::dsink, head, 9.0F);
    EXPECT_FALSE(verdict.passed);
    ASSERT_EQ(verdict.worst.size(), 1U);
    EXPECT_EQ(verdict.worst[0].index, shape_of(TensorId::dsink, device_.problem()).index_of(head));
  }
}

TEST_F(SampledVerify, OfAllRowsHasTheBudgetsOfTheWhole) {
  const Reference all = device_.reference(device_.sample(1'000'000, 0));
  const Reference whole = device_.whole_reference();
  for (const TensorId id : outputs_of(device_.problem())) {
    const TensorVerdict a = verify(id, device_.output(id), all);
    const TensorVerdict b = verify(id, device_.output(id), whole);
    EXPECT_TRUE(a.passed && b.passed) << name_of(id);
    EXPECT_EQ(a.compared, b.compared) << name_of(id);
    EXPECT_NEAR(a.max_diff_budget / b.max_diff_budget, 1.0, 0.02) << name_of(id);
    EXPECT_NEAR(a.l2_budget / b.l2_budget, 1.0, 0.02) << name_of(id);
  }
  for (const TensorId id : {TensorId::o, TensorId::lse, TensorId::d, TensorId::dq}) {
    EXPECT_EQ(verify(id, device_.output(id), all).max_diff, verify(id, device_.output(id), whole).max_diff);
  }
}

TEST_F(SampledVerify, FindsWhatIsWrongWithTheKnownLse) {
  // Keys are computed from what the device says of LSE: that is itself a tensor with sampled rows.
  const std::int64_t row = rows_of(TensorId::lse)[7];
  EXPECT_FALSE(verdict_with(TensorId::lse, row, 0.1F).passed);
}

/// A verdict on `elements`, of which `compared` were.
TensorVerdict judged_with(std::int64_t elements, std::int64_t compared) {
  TensorVerdict judged;
  judged.id = TensorId::dv;
  judged.elements = elements;
  judged.compared = compared;
  judged.max_diff_budget = 0.5;
  judged.l2_budget = 1.0;
  return judged;
}

const Shape kShape{1, 2, 2, 4};

TensorVerdict compare_with(const std::vector<float>& actual, const TensorVerdict& judged) {
  return compare(TensorId::dv, tensor_from(actual, kShape, DType::fp32), std::vector<float>(16, 1.0F),
                 judged);
}

TEST(Compare, TakesTheBudgetsOfTheVerdict) {
  const std::vector<float> same(16, 1.0F);
  const TensorVerdict whole = compare_with(same, judged_with(16, 16));
  EXPECT_TRUE(whole.passed);
  EXPECT_EQ(whole.id, TensorId::dv);
  EXPECT_EQ(whole.elements, 16);
  EXPECT_EQ(whole.compared, 16);
  EXPECT_EQ(whole.unwritten, 0);
  EXPECT_EQ(whole.max_diff, 0.0);
  EXPECT_DOUBLE_EQ(whole.reference_l2, 4.0);
  EXPECT_DOUBLE_EQ(whole.max_diff_budget, kOtherImplementation * 0.5);
  EXPECT_DOUBLE_EQ(whole.l2_budget, kOtherImplementation);
  // Of a quarter of the elements: the 2-norm of all is twice as large.
  const TensorVerdict sampled = compare_with(same, judged_with(16, 4));
  EXPECT_DOUBLE_EQ(sampled.max_diff_budget, kOtherImplementation * 0.5);
  EXPECT_DOUBLE_EQ(sampled.l2_budget, 2.0 * kOtherImplementation);
  EXPECT_DOUBLE_EQ(compare_with(same, judged_with(16, 0)).l2_budget, kOtherImplementation);
}

TEST(Compare, FailsBeyondThem) {
  std::vector<float> actual(16, 1.0F);
  actual[13] = 1.0F + 0.62F;
  EXPECT_TRUE(compare_with(actual, judged_with(16, 4)).passed);
  actual[13] = 1.0F + 0.63F;
  const TensorVerdict verdict = compare_with(actual, judged_with(16, 4));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.wrong, 1);
  ASSERT_EQ(verdict.worst.size(), 1U);
  EXPECT_EQ(verdict.worst[0].index, (Shape{0, 1, 1, 1}));
  EXPECT_EQ(verdict.worst[0].expected, 1.0);
  // Each error is small, and 16 of them are not: 4 * 0.5 > 1.25.
  const std::vector<float> all_off(16, 1.5F);
  EXPECT_FALSE(compare_with(all_off, judged_with(16, 16)).passed);
  EXPECT_EQ(compare_with(all_off, judged_with(16, 16)).wrong, 0);
  EXPECT_TRUE(compare_with(all_off, judged_with(16, 4)).passed);
  actual[13] = kNaN;
  EXPECT_FALSE(compare_with(actual, judged_with(16, 4)).passed);
}

TEST(Compare, RefusesAnotherShape) {
  const HostTensor actual = tensor_from(std::vector<float>(16), kShape, DType::fp32);
  EXPECT_THROW(compare(TensorId::dv, actual, std::vector<float>(15), judged_with(16, 16)),
               std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
