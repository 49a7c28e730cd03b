// Faults that were reported in public against attention libraries, replayed with the fastest family of each
// device. Each test names the report. The emulator gets smaller sizes where the full ones would take minutes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/work.h"
#include "tests/kernels/family_test.h"

namespace fmha_bwd {
namespace {

constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};
constexpr Fill kOnes = {.seed = 7, .standard_deviation = 3.0F, .d_o_is_one = true};

class PublicCases : public FamilyTest {
 protected:
  PublicCases() : FamilyTest("the fastest") {}

  std::unique_ptr<Session> opened(const Problem& problem, const MaskSpec& mask) override {
    for (const KernelSupport& support : backend_->kernels(problem, mask)) {
      if (!support.refusal) return backend_->open(problem, support.kernel);
    }
    throw std::runtime_error("no family takes the problem");
  }

  std::int64_t sized(std::int64_t full, std::int64_t on_emulator) const {
    return GetParam().emulated ? on_emulator : full;
  }

  void expect_right(const Problem& problem, const MaskSpec& mask, const Fill& fill = kFill) {
    expect_right_under(problem, {mask}, fill, {problem.layout});
  }

  std::vector<float> values(Session& session, TensorId id) { return values_of(session.download(id)); }
};

Problem grouped(const Extents& shape, DType dtype, std::vector<std::int64_t> seqlens_q,
                std::vector<std::int64_t> seqlens_k) {
  Problem problem = problem_of(shape, dtype);
  make_grouped(problem, std::move(seqlens_q), std::move(seqlens_k));
  return problem;
}

double density(const MaskSpec& mask, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  return count(Mask(mask.rule(), seqlen_q, seqlen_k)).density();
}

TEST_P(PublicCases, Aiter289BottomRightWithMoreKeysThanQueries) {
  EXPECT_NEAR(density(kBottomRight, 1024, 4096), 0.87512, 5e-6);
  EXPECT_NEAR(density(kTopLeft, 1024, 4096), 0.12512, 5e-6);
  expect_right(
      problem_of({sized(8, 1), sized(16, 2), sized(16, 2), sized(1024, 96), sized(4096, 384), 128, 128},
                 DType::bf16),
      kBottomRight);
}

TEST_P(PublicCases, FlashAttention443OneKeyForManyQueries) {
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    const Problem problem = grouped({1, 1, 1, 1, 1, 32, 32}, dtype, {76, 34, 146}, {1, 1, 1});
    expect_right(problem, kBottomRight, kOnes);
    const auto session = computed(problem, kBottomRight, kOnes);
    for (const float x : values(*session, TensorId::dv)) EXPECT_EQ(x, 1.0F);
    // P = 1 and O = V: dP and D are the same sum in another order.
    for (const TensorId id : {TensorId::dq, TensorId::dk}) {
      for (const float x : values(*session, id)) EXPECT_LE(std::abs(x), 1e-3F) << name_of(id);
    }
  }
}

TEST_P(PublicCases, FlashAttention334OneQueryAndOneKey) {
  const Problem problem = problem_of({2, 3, 3, 1, 1, 16, 16}, DType::fp16);
  expect_right(problem, kTopLeft);
  const auto session = computed(problem, kTopLeft, kFill);
  EXPECT_EQ(values(*session, TensorId::dv), values(*session, TensorId::d_o));
  for (const float x : values(*session, TensorId::dq)) EXPECT_LE(std::abs(x), 1e-4F);
  for (const float x : values(*session, TensorId::dk)) EXPECT_LE(std::abs(x), 1e-4F);
}

TEST_P(PublicCases, FlashAttention1778MoreQueriesThanKeysBottomRight) {
  const Problem problem = problem_of({1, 1, 1, sized(2048, 256), sized(1024, 128), 64, 64}, DType::bf16);
  expect_zeros_in_rows_that_see_no_key(problem);
  expect_right(problem, kBottomRight);
}

TEST_P(PublicCases, CudnnFrontend1040MoreKeysThanQueriesTopLeft) {
  const Problem problem = problem_of({1, 1, 1, sized(384, 192), sized(512, 256), 64, 64}, DType::fp16);
  expect_zeros_in_keys_that_no_query_sees(problem);
  expect_right(problem, kTopLeft);
}

TEST_P(PublicCases, FlashAttention895AWindowAsWideAsAnIntegerIsNoMask) {
  for (const char* name : {"top_left:-1,2147483647", "bottom_right:-1,2147483647", "b:9223372036854775807,-1",
                           "t:2147483647,9223372036854775807", "g:9223372036854775807,9223372036854775807"}) {
    const MaskSpec mask = masks_from(name).front();
    EXPECT_EQ(density(mask, 300, 100), 1.0) << name;
    Problem problem = problem_of({1, 1, 1, 300, 100, 64, 64}, DType::bf16);
    problem.deterministic = true;
    const auto wide = computed(problem, mask, kFill);
    const auto none = computed(problem, kNoMask, kFill);
    for (const TensorId id : outputs_of(problem)) {
      EXPECT_TRUE(wide->download(id).bytes == none->download(id).bytes) << name << " " << name_of(id);
    }
  }
}

TEST_P(PublicCases, RocmLibraries5790ASequenceWithoutQueries) {
  const Problem problem = grouped({1, 2, 1, 1, 1, 64, 64}, DType::fp16, {30, 0, 65}, {40, 50, 20});
  for (const MaskSpec& mask : basic_masks()) expect_right(problem, mask);
  const auto session = computed(problem, kNoMask, kFill);
  for (const TensorId id : {TensorId::dk, TensorId::dv}) {
    const std::vector<float> gradient = values(*session, id);
    EXPECT_TRUE(std::all_of(gradient.begin() + 40 * 64, gradient.begin() + 90 * 64, [](float x) {
      return x == 0.0F;
    })) << name_of(id);
  }
}

TEST_P(PublicCases, Pytorch196678ScoresNear120AtLengthsOfHalfATile) {
  for (const std::int64_t seqlen : {sized(704, 192), std::int64_t{64}}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      expect_right(problem_of({1, 2, 2, seqlen, seqlen, 64, 64}, dtype), kTopLeft,
                   {.seed = 3, .kind = FillKind::extreme});
    }
  }
}

TEST_P(PublicCases, Aiter3124ManyQueryHeadsForOneKeyHead) {
  const std::int64_t seqlen = sized(2048, 70);
  expect_right(
      grouped({1, sized(24, 6), 1, 1, 1, 128, 128}, DType::bf16, {seqlen, seqlen - 50}, {seqlen - 7, seqlen}),
      kBottomRight);
  expect_right(problem_of({2, 3, 3, 200, 200, 64, 64}, DType::bf16), kBottomRight);
}

TEST_P(PublicCases, RocmLibraries11543NoWritePastTheGradientsOfGroupedHeads) {
  for (const auto& [nhead, nhead_k] : {std::pair{6, 1}, {6, 2}, {6, 3}}) {
    const Problem problem = problem_of({2, nhead, nhead_k, 65, 129, 64, 64}, DType::fp16);
    const auto session = computed(problem, kTopLeft, kFill);
    EXPECT_TRUE(session->damaged_guards().empty()) << nhead << "/" << nhead_k;
    expect_right(problem, kTopLeft);
  }
}

TEST_P(PublicCases, FlashAttention2896HeadDimension72) {
  expect_right(
      problem_of({1, sized(8, 2), sized(8, 2), sized(512, 130), sized(512, 130), 72, 72}, DType::bf16),
      kTopLeft);
}

TEST_P(PublicCases, FlashAttention2552ValuesOfAnotherDimension) {
  expect_right(problem_of({1, 2, 2, sized(512, 130), sized(512, 130), 128, 96}, DType::bf16), kTopLeft);
}

TEST_P(PublicCases, FlashAttention2260ThousandsOfSequencesOfOneToken) {
  const Problem problem =
      problem_of({sized(8300, 83), sized(16, 2), sized(16, 2), 1, 1, 128, 128}, DType::bf16);
  expect_right(problem, kNoMask, kOnes);
  const auto session = computed(problem, kNoMask, kOnes);
  for (const float x : values(*session, TensorId::dv)) ASSERT_EQ(x, 1.0F);
  for (const float x : values(*session, TensorId::dq)) ASSERT_LE(std::abs(x), 1e-3F);
  for (const float x : values(*session, TensorId::dk)) ASSERT_LE(std::abs(x), 1e-3F);
}

TEST_P(PublicCases, FlashAttention2244DeterministicRunsRepeatEveryBit) {
  for (const auto& [seqlen, heads] : {std::pair{1024, 12}, {512, 8}}) {
    Problem problem = problem_of(
        {2, sized(heads, 2), sized(heads, 2), sized(seqlen, seqlen / 8), sized(seqlen, seqlen / 8), 64, 64},
        DType::bf16);
    problem.deterministic = true;
    const auto session = computed(problem, kTopLeft, kFill);
    std::vector<HostTensor> first;
    for (const TensorId id : gradients_of(problem)) first.push_back(session->download(id));
    for (std::int64_t run = 1; run < sized(30, 3); ++run) {
      session->backward(kTopLeft);
      for (std::size_t i = 0; i < first.size(); ++i) {
        const TensorId id = gradients_of(problem)[i];
        EXPECT_TRUE(session->download(id).bytes == first[i].bytes) << name_of(id) << " in run " << run;
      }
    }
  }
}

TEST_P(PublicCases, ComposableKernelsSmokeSizes) {
  struct Smoke {
    std::int64_t seqlen_q, seqlen_k;
    const char* mask;
    double density;
    std::int64_t empty_rows, empty_keys;
  };
  for (const Smoke& smoke :
       {Smoke{259, 259, "n", 1.0, 0, 0}, Smoke{516, 253, "n", 1.0, 0, 0}, Smoke{500, 251, "t", 0.75, 0, 0},
        Smoke{900, 258, "b", 0.14389, 642, 0}, Smoke{987, 219, "t:128,30", 0.15894, 640, 0},
        Smoke{244, 499, "b:4,35", 0.07499, 0, 251}}) {
    const MaskSpec mask = masks_from(smoke.mask).front();
    const MaskCounts counts = count(Mask(mask.rule(), smoke.seqlen_q, smoke.seqlen_k));
    EXPECT_NEAR(counts.density(), smoke.density, 6e-6) << smoke.mask;
    EXPECT_EQ(counts.empty_rows, smoke.empty_rows) << smoke.mask;
    EXPECT_EQ(counts.empty_keys, smoke.empty_keys) << smoke.mask;
    const std::int64_t hdim = sized(64, 16);
    expect_right(problem_of({1, 1, 1, smoke.seqlen_q, smoke.seqlen_k, hdim, hdim}, DType::fp16), mask);
  }
}

TEST_P(PublicCases, TheSeedsOwnReferenceARowThatSeesNoKeyIsNotUniform) {
  expect_zeros_in_rows_that_see_no_key(problem_of({1, 1, 1, 128, 64, 128, 128}, DType::fp16));
}

TEST_P(PublicCases, ComposableKernelsTolerancesLetZerosPass) {
  const std::int64_t seqlen = sized(3328, 416);
  const Problem problem = problem_of({1, 1, 1, seqlen, seqlen, 128, 128}, DType::fp16);
  const Fill fill = {.seed = 7, .kind = FillKind::uniform};
  const Reference reference = reference_for(problem, kNoMask, draw_inputs(problem, fill));
  const auto session = computed(problem, kNoMask, fill);
  for (const TensorId id : gradients_of(problem)) {
    expect_in_budget(*session, id, reference, "uniform in [0, 1)");
    HostTensor zeros = session->download(id);
    std::fill(zeros.bytes.begin(), zeros.bytes.end(), std::byte{0});
    EXPECT_FALSE(verify(id, zeros, reference).passed) << name_of(id);
  }
}

TEST_P(PublicCases, LlmCANanAnywhereInAGradientFails) {
  const Problem problem = problem_of({1, 2, 1, 20, 30, 64, 64}, DType::fp16);
  const Reference reference = reference_for(problem, kTopLeft, draw_inputs(problem, kFill));
  const auto session = computed(problem, kTopLeft, kFill);
  for (const TensorId id : gradients_of(problem)) {
    const HostTensor right = session->download(id);
    ASSERT_TRUE(verify(id, right, reference).passed);
    for (const std::size_t at : {std::size_t{0}, right.bytes.size() / 4 * 2, right.bytes.size() - 2}) {
      HostTensor wrong = right;
      wrong.bytes[at] = wrong.bytes[at + 1] = std::byte{0x7f};
      EXPECT_FALSE(verify(id, wrong, reference).passed) << name_of(id) << " at byte " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Device, PublicCases, testing::ValuesIn(devices_to_test()), test_name);

}  // namespace
}  // namespace fmha_bwd
