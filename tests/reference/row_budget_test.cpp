// Each row of a tensor has a budget of its own: reference/verify.h.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "reference/verify.h"

namespace fmha_bwd {
namespace {

constexpr std::int64_t kRows = 10000;
constexpr std::int64_t kColumns = 16;
constexpr std::int64_t kLate = 9000;

/// Rows of 16 equal numbers: 100 of the first row, 1 of all others.
std::vector<double> one_large_row() {
  std::vector<double> truth(kRows * kColumns, 1.0);
  std::fill_n(truth.begin(), kColumns, 100.0);
  return truth;
}

/// The truth with all elements off by the same share, as rounding has them.
std::vector<float> off_by(const std::vector<double>& truth, double share) {
  std::vector<float> values;
  for (const double x : truth) values.push_back(static_cast<float>(x * (1.0 + share)));
  return values;
}

void set_row(std::vector<float>& values, std::int64_t row, float value) {
  std::fill_n(values.begin() + row * kColumns, kColumns, value);
}

TensorVerdict verdict_of(const std::vector<float>& values, std::int64_t columns = kColumns,
                         TensorId id = TensorId::dq) {
  const std::vector<double> truth = one_large_row();
  const Shape shape = {1, 1, kRows * kColumns / columns, columns};
  return verify(id, tensor_from(values, shape, DType::fp32), truth, off_by(truth, 1e-2), {});
}

TEST(RowBudget, HoldsRowsThatErrAsTheTextbookDoes) {
  const TensorVerdict verdict = verdict_of(off_by(one_large_row(), 1e-2));
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.wrong_rows, 0);
  EXPECT_GT(verdict.row_share, 0.0);
  EXPECT_LT(verdict.row_share, 0.5);
}

TEST(RowBudget, SeesOneZeroRowThatTheOtherBudgetsDoNotSee) {
  std::vector<float> values = off_by(one_large_row(), 1e-2);
  set_row(values, kLate, 0.0F);
  const TensorVerdict verdict = verdict_of(values);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.wrong, 0);  // the first row may err by 1, so that any other may be zero
  EXPECT_LE(verdict.l2_diff, verdict.l2_budget);
  EXPECT_EQ(verdict.wrong_rows, 1);
  EXPECT_GT(verdict.row_share, 1.0);
  EXPECT_GT(verdict.budget_share(), 1.0);
  ASSERT_EQ(verdict.worst.size(), 1U);
  EXPECT_EQ(verdict.worst.front().index.row, kLate);
  EXPECT_EQ(verdict.worst.front().actual, 0.0);
  EXPECT_EQ(verdict.worst.front().expected, 1.0);
}

TEST(RowBudget, AllowsEachRowWhatTheTextbookErrsInIt) {
  // The textbook's row 9000 is off by 0.3: so may the device's be, by up to kRowFactor times that.
  const std::vector<double> truth = one_large_row();
  std::vector<float> textbook = off_by(truth, 1e-2);
  set_row(textbook, kLate, 1.3F);
  const auto passes = [&](float error) {
    std::vector<float> values = off_by(truth, 1e-2);
    set_row(values, kLate, 1.0F + error);
    const Shape shape = {1, 1, kRows, kColumns};
    const std::vector<double> none_expected(kRows, 0.0);
    return verify(TensorId::dq, tensor_from(values, shape, DType::fp32), truth, textbook, {}, none_expected)
        .passed;
  };
  EXPECT_TRUE(passes(0.99F * 0.3F * static_cast<float>(kRowFactor)));
  EXPECT_FALSE(passes(1.01F * 0.3F * static_cast<float>(kRowFactor)));
}

TEST(RowBudget, AllowsEachRowWhatIsExpectedOfIt) {
  const std::vector<double> truth = one_large_row();
  std::vector<double> expected(kRows, 0.0);
  expected[kLate] = 0.1;  // of each element
  const auto passes = [&](float error) {
    std::vector<float> values = off_by(truth, 1e-3);
    set_row(values, kLate, 1.0F + error);
    const Shape shape = {1, 1, kRows, kColumns};
    return verify(TensorId::dq, tensor_from(values, shape, DType::fp32), truth, off_by(truth, 1e-3), {},
                  expected)
        .passed;
  };
  // 0.4 is far beyond the whole tensor's largest difference too: what the first row errs by is 0.1.
  EXPECT_TRUE(passes(0.99F * 0.1F));
  EXPECT_FALSE(passes(1.01F * 0.4F));
}

TEST(RowBudget, IsNotForTensorsOfFewColumns) {
  std::vector<float> values = off_by(one_large_row(), 1e-2);
  values[kLate * kColumns] = 0.0F;
  EXPECT_TRUE(verdict_of(values, kLeastColumnsOfRows / 2).passed);
}

TEST(RowBudget, IsNotForDbias) {
  std::vector<float> values = off_by(one_large_row(), 1e-2);
  set_row(values, kLate, 0.0F);
  EXPECT_FALSE(verdict_of(values, kColumns, TensorId::dv).passed);
  EXPECT_TRUE(verdict_of(values, kColumns, TensorId::dbias).passed);
}

TEST(RowBudget, TheThirdOpinionHasOneToo) {
  const std::vector<float> right = off_by(one_large_row(), 1e-2);
  std::vector<float> wrong = right;
  set_row(wrong, kLate, 0.0F);
  const Shape shape = {1, 1, kRows, kColumns};
  const TensorVerdict judged = verdict_of(right);
  EXPECT_TRUE(compare(TensorId::dq, tensor_from(right, shape, DType::fp32), right, judged).passed);
  EXPECT_FALSE(compare(TensorId::dq, tensor_from(wrong, shape, DType::fp32), right, judged).passed);
}

TEST(RowBudget, TheThirdOpinionHasThatOfEachRowWhereAllAreKnown) {
  // One row errs by more than its share, as the textbook does in it.
  Reference reference;
  reference.exact.dq = one_large_row();
  reference.textbook.dq = off_by(reference.exact.dq, 1e-2);
  reference.expected.rows.dq.assign(kRows, 0.0);
  const std::vector<float> right = off_by(reference.exact.dq, 0.0);
  const auto passes = [&](float error) {
    std::vector<float> values = right;
    set_row(values, kLate, 1.0F + error);
    const HostTensor actual = tensor_from(values, {1, 1, kRows, kColumns}, DType::fp32);
    return compare(TensorId::dq, actual, right, reference).passed;
  };
  EXPECT_FALSE(passes(0.3F));
  set_row(reference.textbook.dq, kLate, 1.3F);
  EXPECT_TRUE(passes(0.3F));
  EXPECT_TRUE(passes(0.99F * 0.3F * static_cast<float>(kRowFactor * kOtherImplementation)));
  EXPECT_FALSE(passes(1.01F * 0.3F * static_cast<float>(kRowFactor * kOtherImplementation)));
  EXPECT_THROW(compare(TensorId::dq, tensor_from(right, {1, 1, kRows, kColumns}, DType::fp32), {}, reference),
               std::invalid_argument);
}

}  // namespace
}  // namespace fmha_bwd
