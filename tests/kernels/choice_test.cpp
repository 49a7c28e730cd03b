#include "kernels/choice.h"

#include <gtest/gtest.h>

#include <set>

#include "base/mask_spec.h"

namespace fmha_bwd {
namespace {

constexpr auto kRows = std::to_array<MeasuredChoice>({{"sm_90", 64, "no_mask", 8, 64, "narrow"},
                                                      {"sm_90", 64, "no_mask", 128, 1024, "wide"},
                                                      {"sm_90", 64, "top_left", 8, 64, "causal"},
                                                      {"sm_90", 128, "no_mask", 8, 64, "deep"},
                                                      {"sm_80", 64, "no_mask", 8, 64, "old"}});

Problem problem_of(std::int64_t batch, std::int64_t nhead, std::int64_t seqlen, std::int64_t hdim) {
  Problem problem;
  problem.batch = batch;
  problem.nhead_q = problem.nhead_k = nhead;
  problem.seqlen_q = problem.seqlen_k = seqlen;
  problem.hdim_q = problem.hdim_v = hdim;
  problem.dtype = DType::bf16;
  return problem;
}

std::string chosen(const Problem& problem, const std::string& mask = "no_mask",
                   std::string_view arch = "sm_90") {
  const MeasuredChoice* choice = choice_for(problem, masks_from(mask).front().rule(), arch, kRows);
  return choice == nullptr ? "" : std::string(choice->kernel);
}

TEST(Choice, IsThatOfTheNearestLengthAndNumberOfHeads) {
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 64)), "narrow");
  EXPECT_EQ(chosen(problem_of(2, 8, 128, 64)), "narrow");
  EXPECT_EQ(chosen(problem_of(8, 16, 512, 64)), "wide");
  EXPECT_EQ(chosen(problem_of(2, 8, 100000, 64)), "wide");
}

TEST(Choice, IsOfTheNearestHeadDimensionThatHoldsTheProblemsOwn) {
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 40)), "narrow");
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 65)), "deep");
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 129)), "");
  Problem problem = problem_of(1, 8, 64, 64);
  problem.hdim_v = 128;
  EXPECT_EQ(chosen(problem), "deep");
}

TEST(Choice, TellsMasksThatHideNothingFromOthers) {
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 64), "top_left"), "causal");
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 64), "document:10"), "causal");
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 64), "top_left:63,63"), "narrow");
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 64), "top_left:62,63"), "causal");
}

TEST(Choice, CountsAGroupByItsMeanLength) {
  Problem problem = problem_of(2, 8, 1, 64);
  problem.seqlens_q = problem.seqlens_k = {100, 28};
  const MeasuredChoice* choice = choice_for(problem, masks_from("no_mask").front().rule(), "sm_90", kRows);
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(choice->kernel, "causal");
}

TEST(Choice, IsNoneWhereNothingWasTimed) {
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 64), "no_mask", "gfx942"), "");
  EXPECT_EQ(chosen(problem_of(1, 8, 64, 64), "no_mask", "sm_80"), "old");
  Problem problem = problem_of(1, 8, 64, 64);
  problem.dtype = DType::fp32;
  EXPECT_EQ(chosen(problem), "");
}

TEST(Choice, SaysWhatItGoesBy) {
  EXPECT_EQ(reason_of(kRows[1]), "fastest of those timed at hdim 64, no_mask, 128 heads of 1024");
}

TEST(Choice, HasRowsOfFamiliesAndMasksThatThereAre) {
  const std::set<std::string_view> families = {"hopper", "mma", "simt"};
  ASSERT_FALSE(measured_choices().empty());
  for (const MeasuredChoice& row : measured_choices()) {
    EXPECT_TRUE(families.count(row.kernel)) << row.kernel;
    EXPECT_TRUE(row.mask == "no_mask" || row.mask == "top_left") << row.mask;
    EXPECT_GT(row.heads, 0);
    EXPECT_GT(row.seqlen, 0);
  }
}

}  // namespace
}  // namespace fmha_bwd
