#include "base/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fmha_bwd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

struct BadExtent {
  std::int64_t Problem::*field;
  std::int64_t value;
  const char* option;
};

TEST(Problem, ADefaultOneHasNoComplaint) { EXPECT_EQ(complaint_about(Problem{}), std::nullopt); }

TEST(Problem, AComplaintNamesOptionAndValue) {
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  for (const BadExtent& bad :
       {BadExtent{&Problem::batch, 0, "--batch:"}, BadExtent{&Problem::nhead_q, -1, "--nhead:"},
        BadExtent{&Problem::nhead_k, 0, "--nhead-k:"}, BadExtent{&Problem::seqlen_q, -3, "--seqlen-q:"},
        BadExtent{&Problem::seqlen_k, kHuge, "--seqlen-k:"}, BadExtent{&Problem::hdim_q, 0, "--hdim:"},
        BadExtent{&Problem::hdim_v, 257, "--hdim-v:"}}) {
    Problem problem;
    problem.*bad.field = bad.value;
    EXPECT_THAT(complaint_about(problem),
                Optional(AllOf(HasSubstr(bad.option), HasSubstr(std::to_string(bad.value)))));
  }
}

TEST(Problem, AComplaintAboutAnExtentSaysWhatIsAllowed) {
  Problem problem;
  problem.hdim_q = 300;
  EXPECT_THAT(complaint_about(problem), Optional(HasSubstr("1..256")));
}

TEST(Problem, EveryHeadDimensionUpTo256IsAllowed) {
  Problem problem;
  problem.hdim_q = 1;
  problem.hdim_v = 256;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
}

TEST(Problem, QueryHeadsMustBeAMultipleOfKeyHeads) {
  Problem problem;
  problem.nhead_q = 8;
  problem.nhead_k = 3;
  EXPECT_THAT(complaint_about(problem),
              Optional(AllOf(HasSubstr("--nhead-k"), HasSubstr("3"), HasSubstr("8"))));
  problem.nhead_k = 16;
  EXPECT_NE(complaint_about(problem), std::nullopt);
  problem.nhead_k = 2;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  EXPECT_EQ(problem.group_size(), 4);
}

TEST(Problem, TheScaleMustBeFinite) {
  Problem problem;
  for (const float scale :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    problem.scale = scale;
    EXPECT_THAT(complaint_about(problem), Optional(HasSubstr("--scale")));
  }
  problem.scale = -2.0F;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
}

TEST(Problem, OneThatOverflowsAddressesIsRefused) {
  Problem problem;
  problem.batch = problem.nhead_q = problem.seqlen_q = std::int64_t{1} << 28;
  problem.nhead_k = 1;
  EXPECT_THAT(complaint_about(problem), Optional(HasSubstr("--batch")));
}

TEST(Problem, ALayoutHasANameThatLeadsBack) {
  EXPECT_EQ(Problem{}.layout, Layout::bhsd);
  EXPECT_EQ(name_of(Layout::bhsd), "bhsd");
  EXPECT_EQ(name_of(Layout::bshd), "bshd");
  for (const Layout layout : {Layout::bhsd, Layout::bshd}) {
    EXPECT_EQ(layout_named(name_of(layout)), layout);
  }
  EXPECT_EQ(layout_named("sbhd"), std::nullopt);
}

TEST(Problem, TheDefaultScaleIsOneOverTheRootOfTheHeadDimension) {
  EXPECT_EQ(default_scale(64), 0.125F);
  EXPECT_EQ(default_scale(1), 1.0F);
  EXPECT_EQ(default_scale(128), Problem{}.scale);
  EXPECT_EQ(default_scale(80), static_cast<float>(1.0 / std::sqrt(80.0)));
}

}  // namespace
}  // namespace fmha_bwd
