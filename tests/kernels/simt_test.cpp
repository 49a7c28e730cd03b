// The simt family against the fp64 reference, on every device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/backend.h"
#include "reference/inputs.h"
#include "reference/verify.h"
#include "tests/kernels/devices.h"

namespace fmha_bwd {
namespace {

struct Extents {
  std::int64_t batch, nhead_q, nhead_k, seqlen_q, seqlen_k, hdim_q, hdim_v;
};

Problem problem_of(const Extents& shape, DType dtype) {
  Problem problem{shape.batch,    shape.nhead_q, shape.nhead_k, shape.seqlen_q,
                  shape.seqlen_k, shape.hdim_q,  shape.hdim_v,  dtype};
  problem.scale = default_scale(shape.hdim_q);
  return problem;
}

class Simt : public testing::TestWithParam<Device> {
 protected:
  Simt() : backend_(open_backend(GetParam().platform, GetParam().index)) {}

  std::unique_ptr<Session> computed(const Problem& problem, const Mask& mask, const Fill& fill) {
    auto session = backend_->open(problem, "simt");
    session->fill_inputs(fill);
    session->poison_outputs();
    session->forward(mask);
    session->backward(mask);
    return session;
  }

  void expect_right(const Problem& problem, float standard_deviation) {
    const Fill fill = {.seed = 7, .standard_deviation = standard_deviation};
    const AttentionInputs inputs = draw_inputs(problem, fill);
    for (const MaskKind kind : kAllMaskKinds) {
      const Mask mask(kind, problem.seqlen_q, problem.seqlen_k);
      const auto session = computed(problem, mask, fill);
      const Reference reference = reference_for(problem, mask, inputs);
      for (const TensorId id : kOutputs) {
        const TensorVerdict verdict = verify(id, session->download(id), reference);
        EXPECT_TRUE(verdict.passed) << name_of(id) << " " << name_of(kind) << " " << name_of(problem.dtype)
                                    << " " << name_of(problem.layout) << " S " << problem.seqlen_q << "x"
                                    << problem.seqlen_k << " D " << problem.hdim_q << "/" << problem.hdim_v
                                    << ": " << verdict.wrong << " wrong, " << verdict.budget_share()
                                    << " of the budget";
      }
      EXPECT_TRUE(session->damaged_guards().empty());
    }
  }

  std::optional<std::string> simt_refusal(const Problem& problem) const {
    for (const KernelSupport& support : backend_->kernels(problem)) {
      if (support.kernel == "simt") return support.refusal;
    }
    return "there is no such family";
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(Simt, IsRightInEveryType) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    expect_right(problem_of({1, 2, 2, 128, 192, 64, 64}, dtype), 1.0F);
  }
}

TEST_P(Simt, IsRightAtTheTailsOfItsTiles) {
  for (const auto& [seqlen_q, seqlen_k] :
       {std::pair{1, 1}, {1, 65}, {65, 1}, {63, 64}, {65, 127}, {130, 33}}) {
    expect_right(problem_of({1, 1, 1, seqlen_q, seqlen_k, 32, 32}, DType::fp16), 1.0F);
  }
}

TEST_P(Simt, IsRightForEveryHeadDimension) {
  for (const std::int64_t hdim : {1, 7, 40, 65, 96, 128, 200, 256}) {
    expect_right(problem_of({1, 1, 1, 40, 50, hdim, hdim}, DType::bf16), 1.0F);
  }
}

TEST_P(Simt, IsRightWhereKeysAndValuesHaveDifferentDimensions) {
  expect_right(problem_of({1, 1, 1, 70, 50, 192, 128}, DType::fp16), 1.0F);
  expect_right(problem_of({1, 1, 1, 70, 50, 24, 100}, DType::fp32), 1.0F);
  expect_right(problem_of({1, 1, 1, 70, 50, 13, 256}, DType::bf16), 1.0F);
}

TEST_P(Simt, SumsKeyAndValueGradientsOverTheGroup) {
  expect_right(problem_of({2, 4, 2, 66, 80, 80, 80}, DType::fp16), 1.0F);
  expect_right(problem_of({1, 6, 1, 33, 70, 16, 16}, DType::fp32), 1.0F);
}

// Several batches, heads and rows, all different, so that no two strides can stand for one another.
TEST_P(Simt, IsRightWhereRowsOfAHeadAreNotContiguous) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const Extents& shape : {Extents{2, 4, 2, 66, 80, 40, 24}, Extents{2, 6, 3, 33, 70, 13, 21}}) {
      Problem problem = problem_of(shape, dtype);
      problem.layout = Layout::bshd;
      expect_right(problem, 1.0F);
    }
  }
}

TEST_P(Simt, GivesTheSameBitsInEitherLayout) {
  Problem problem = problem_of({2, 4, 2, 66, 80, 72, 24}, DType::fp16);
  const Mask mask(MaskKind::bottom_right, problem.seqlen_q, problem.seqlen_k);
  const auto bhsd = computed(problem, mask, Fill{});
  problem.layout = Layout::bshd;
  const auto bshd = computed(problem, mask, Fill{});
  for (const TensorId id : kOutputs) {
    if (id == TensorId::dq) continue;  // atomic additions come in any order
    EXPECT_EQ(bhsd->download(id).bytes, bshd->download(id).bytes) << name_of(id);
  }
}

TEST_P(Simt, RefusesRowsThatAreTooFarApart) {
  Problem problem;
  problem.batch = problem.seqlen_q = problem.seqlen_k = 1;
  problem.nhead_q = problem.nhead_k = std::int64_t{1} << 23;
  problem.hdim_q = problem.hdim_v = 256;
  EXPECT_EQ(simt_refusal(problem), std::nullopt);
  problem.layout = Layout::bshd;
  EXPECT_NE(simt_refusal(problem), std::nullopt);
  problem.nhead_q = problem.nhead_k -= 1;
  EXPECT_EQ(simt_refusal(problem), std::nullopt);
}

TEST_P(Simt, IsRightWherePIsNearlyUniform) {
  expect_right(problem_of({1, 2, 2, 64, 64, 128, 128}, DType::fp16), 0.1F);
}

TEST_P(Simt, IsRightWherePIsNearlyOneHot) {
  expect_right(problem_of({1, 1, 1, 80, 96, 64, 64}, DType::bf16), 3.0F);
}

TEST_P(Simt, TakesANegativeAndAZeroScale) {
  for (const float scale : {-0.3F, 0.0F}) {
    Problem problem = problem_of({1, 1, 1, 40, 72, 32, 32}, DType::fp16);
    problem.scale = scale;
    expect_right(problem, 1.0F);
  }
}

TEST_P(Simt, GivesARowThatSeesNoKeyZerosAndMinusInfinity) {
  const Problem problem = problem_of({1, 1, 1, 128, 64, 32, 32}, DType::fp16);
  const Mask mask(MaskKind::bottom_right, 128, 64);
  const auto session = computed(problem, mask, Fill{});
  const std::vector<float> dq = values_of(session->download(TensorId::dq));
  const std::vector<float> o = values_of(session->download(TensorId::o));
  const std::vector<float> lse = values_of(session->download(TensorId::lse));
  for (std::size_t row = 0; row < 64; ++row) {
    EXPECT_EQ(lse[row], -std::numeric_limits<float>::infinity());
    for (std::size_t column = 0; column < 32; ++column) {
      EXPECT_EQ(dq[row * 32 + column], 0.0F);
      EXPECT_EQ(o[row * 32 + column], 0.0F);
    }
  }
  EXPECT_TRUE(std::isfinite(lse[64]));
}

TEST_P(Simt, GivesAKeyThatNoQuerySeesZeroGradients) {
  const Problem problem = problem_of({1, 1, 1, 64, 128, 32, 32}, DType::fp16);
  const auto session = computed(problem, Mask(MaskKind::top_left, 64, 128), Fill{});
  const std::vector<float> dk = values_of(session->download(TensorId::dk));
  const std::vector<float> dv = values_of(session->download(TensorId::dv));
  for (std::size_t i = 64 * 32; i < 128 * 32; ++i) {
    EXPECT_EQ(dk[i], 0.0F);
    EXPECT_EQ(dv[i], 0.0F);
  }
  EXPECT_NE(dv[63 * 32], 0.0F);
}

TEST_P(Simt, SaysHowMuchMemoryAProblemNeedsThatDoesNotFit) {
  Problem problem = problem_of({1024, 1024, 1024, 65536, 65536, 128, 128}, DType::fp16);
  try {
    backend_->open(problem, "simt");
    FAIL() << "opened a session of petabytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::device_error);
    EXPECT_NE(std::string(error.what()).find("are free"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Simt, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
