#include "src/determinism.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fmha_bwd {
namespace {

constexpr Shape kShape = {1, 1, 2, 3};

/// Gradients that are their pass's number from pass `changes_in` on, and 1 before.
class CountingSession final : public Session {
 public:
  CountingSession(Problem problem, std::int64_t changes_in)
      : problem_(std::move(problem)), changes_in_(changes_in) {}

  void fill_inputs(const Fill& /*fill*/) override {}
  void upload(TensorId /*id*/, const HostTensor& /*tensor*/) override {}
  void poison_outputs() override { poisoned_ = true; }
  void forward(const MaskSpec& /*mask*/) override { EXPECT_TRUE(poisoned_); }
  BackwardTimes backward(const MaskSpec& /*mask*/) override {
    EXPECT_TRUE(poisoned_);
    poisoned_ = false;
    ++passes;
    return {};
  }
  void prepare_timing(const MaskSpec& /*mask*/, CacheState /*cache*/) override {}
  double time_passes(std::int64_t /*passes*/) override { return 0.0; }
  std::optional<double> time_graph(std::int64_t /*passes*/) override { return std::nullopt; }
  std::optional<double> clock_mhz() override { return std::nullopt; }
  HostTensor download(TensorId id) override {
    const Shape shape = shape_of(id, problem_);
    const float value = passes > changes_in_ && id == TensorId::dk ? 2.0F : 1.0F;
    return tensor_from(std::vector<float>(static_cast<std::size_t>(shape.elements()), value), shape,
                       dtype_of(id, problem_));
  }
  std::vector<TensorId> damaged_guards() override { return {}; }

  std::int64_t passes = 0;

 private:
  Problem problem_;
  std::int64_t changes_in_;
  bool poisoned_ = false;
};

Problem small() {
  Problem problem;
  problem.batch = problem.nhead_q = problem.nhead_k = 1;
  problem.seqlen_q = problem.seqlen_k = 2;
  problem.hdim_q = problem.hdim_v = 4;
  return problem;
}

TEST(Determinism, OfEqualRunsHasNoDifferenceAfterAllOfThem) {
  CountingSession session(small(), 100);
  const Determinism result = check_determinism(session, small(), kNoMask, 5, [](double) {});
  EXPECT_EQ(session.passes, 5);
  EXPECT_EQ(result.runs, 5);
  EXPECT_FALSE(result.required);
  EXPECT_FALSE(result.difference.has_value());
}

TEST(Determinism, EndsAtTheFirstRunThatDiffers) {
  Problem problem = small();
  problem.deterministic = true;
  CountingSession session(problem, 3);
  const Determinism result = check_determinism(session, problem, kNoMask, 10, [](double) {});
  EXPECT_EQ(session.passes, 4);
  EXPECT_TRUE(result.required);
  ASSERT_TRUE(result.difference.has_value());
  EXPECT_EQ(result.difference->id, TensorId::dk);
  EXPECT_EQ(result.difference->run, 3);
  EXPECT_EQ(result.difference->first, 1.0);
  EXPECT_EQ(result.difference->other, 2.0);
  EXPECT_EQ(result.difference->elements, 8);
}

TEST(Difference, IsOfBitsAndNamesTheFirstElement) {
  const HostTensor first = tensor_from({1, 2, 3, 4, 5, 0}, kShape, DType::fp16);
  const HostTensor other = tensor_from({1, 2, 3, 7, 5, -0.0F}, kShape, DType::fp16);
  EXPECT_FALSE(difference_between(TensorId::dv, first, first).has_value());
  const auto difference = difference_between(TensorId::dv, first, other);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->id, TensorId::dv);
  EXPECT_EQ(difference->index, (Shape{0, 0, 1, 0}));
  EXPECT_EQ(difference->first, 4.0);
  EXPECT_EQ(difference->other, 7.0);
  EXPECT_EQ(difference->elements, 2);  // the zeros have other signs
}

TEST(Difference, OfEqualNaNsIsNone) {
  const HostTensor tensor = tensor_from({NAN, 1}, {1, 1, 1, 2}, DType::bf16);
  EXPECT_FALSE(difference_between(TensorId::dq, tensor, tensor).has_value());
}

TEST(Difference, OfEmptyTensorsIsNone) {
  const HostTensor empty = tensor_from({}, {1, 1, 0, 2}, DType::fp32);
  EXPECT_FALSE(difference_between(TensorId::dq, empty, empty).has_value());
}

}  // namespace
}  // namespace fmha_bwd
