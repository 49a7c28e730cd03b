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
using ::testing::StartsWith;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

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
        BadExtent{&Problem::hdim_v, 513, "--hdim-v:"}}) {
    Problem problem;
    problem.*bad.field = bad.value;
    EXPECT_THAT(complaint_about(problem),
                Optional(AllOf(HasSubstr(bad.option), HasSubstr(std::to_string(bad.value)))));
  }
}

TEST(Problem, AComplaintAboutAnExtentSaysWhatIsAllowed) {
  Problem problem;
  problem.hdim_q = 600;
  EXPECT_THAT(complaint_about(problem), Optional(HasSubstr("1..512")));
}

TEST(Problem, EveryHeadDimensionUpTo512IsAllowed) {
  Problem problem;
  problem.hdim_q = 1;
  problem.hdim_v = 512;
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
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::qkv}) {
    EXPECT_EQ(layout_named(name_of(layout)), layout);
  }
  EXPECT_EQ(layout_named("sbhd"), std::nullopt);
}

TEST(Problem, ABiasShapeHasANameThatLeadsBack) {
  EXPECT_EQ(name_of(BiasShape::none), "none");
  EXPECT_EQ(name_of(BiasShape::full), "full");
  for (const BiasShape shape :
       {BiasShape::none, BiasShape::shared, BiasShape::head, BiasShape::batch, BiasShape::full}) {
    EXPECT_EQ(bias_shape_named(name_of(shape)), shape);
  }
  EXPECT_EQ(bias_shape_named("all"), std::nullopt);
  EXPECT_EQ(bias_shape_named(""), std::nullopt);
}

TEST(Problem, ScoresArePlainUntilSomethingChangesThem) {
  EXPECT_TRUE(Problem{}.plain_scores());
  const auto changed = [](auto change) {
    Problem problem;
    change(problem);
    return problem.plain_scores();
  };
  EXPECT_FALSE(changed([](Problem& p) { p.softcap = 30.0F; }));
  EXPECT_FALSE(changed([](Problem& p) { p.bias = BiasShape::shared; }));
  EXPECT_FALSE(changed([](Problem& p) { p.alibi = true; }));
  EXPECT_FALSE(changed([](Problem& p) { p.sink = true; }));
  EXPECT_FALSE(changed([](Problem& p) { p.dropout.probability = 0.1F; }));
  EXPECT_TRUE(changed([](Problem& p) { p.dropout.seed = 9; }));
  EXPECT_TRUE(changed([](Problem& p) { p.deterministic = true; }));
}

TEST(Problem, TheSoftcapMustBeFiniteAndNotNegative) {
  Problem problem;
  for (const float softcap : {-1.0F, kInfinity, kNaN}) {
    problem.softcap = softcap;
    EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--softcap: "))) << softcap;
  }
  problem.softcap = 1e-3F;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
}

TEST(Problem, TheDropoutMustLeaveSomething) {
  Problem problem;
  for (const float probability : {-0.1F, 1.0F, 1.5F, kInfinity, kNaN}) {
    problem.dropout.probability = probability;
    EXPECT_THAT(complaint_about(problem), Optional(AllOf(StartsWith("--dropout: "), HasSubstr("[0, 1)"))))
        << probability;
  }
  problem.dropout.probability = 0.99F;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
}

TEST(Problem, InGroupModeSequencesMayBeEmpty) {
  Problem problem;
  make_grouped(problem, {3, 0, 5}, {0, 0, 2});
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  make_grouped(problem, {0, 0}, {0, 0});
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  Problem batched;
  batched.seqlen_q = 0;
  EXPECT_THAT(complaint_about(batched), Optional(StartsWith("--seqlen-q: 0 is not in 1..")));
}

TEST(Problem, InGroupModeALengthMustNotBeNegativeOrTooLong) {
  Problem problem;
  make_grouped(problem, {3, -1, 5}, {1, 1, 1});
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--seqlen-q: -1 is not in 0..536870911")));
  make_grouped(problem, {3, 1, 5}, {1, kMaxExtent + 1, 1});
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--seqlen-k: 536870912 is not in 0..")));
}

TEST(Problem, InGroupModeQueriesAndKeysHaveEquallyManyLengths) {
  Problem problem;
  make_grouped(problem, {3, 5}, {1, 2, 3});
  EXPECT_THAT(complaint_about(problem),
              Optional(StartsWith("--seqlen-k: 3 lengths for the 2 of --seqlen-q")));
  make_grouped(problem, {3, 5}, {1, 2});
  problem.batch = 3;
  EXPECT_NE(complaint_about(problem), std::nullopt);
}

TEST(Problem, InGroupModeAllRowsTogetherMustBeAddressable) {
  Problem problem;
  make_grouped(problem, {kMaxExtent, 1}, {1, 1});
  EXPECT_THAT(complaint_about(problem),
              Optional(AllOf(StartsWith("--seqlen-q: "), HasSubstr("rows together"))));
  make_grouped(problem, {1, 1}, {kMaxExtent, 1});
  EXPECT_THAT(complaint_about(problem),
              Optional(AllOf(StartsWith("--seqlen-k: "), HasSubstr("rows together"))));
}

TEST(Problem, PaddingIsAtLeastTheLength) {
  Problem problem;
  problem.seqlen_q = 5;
  problem.padded_q = {4};
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--seqlen-q-pad: 4 is not in 5..")));
  problem.padded_q = {5};
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  problem.padded_q = {kMaxExtent + 1};
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--seqlen-q-pad: ")));

  Problem grouped;
  make_grouped(grouped, {3, 5}, {1, 2});
  grouped.padded_k = {1, 1};
  EXPECT_THAT(complaint_about(grouped), Optional(StartsWith("--seqlen-k-pad: 1 is not in 2..")));
  grouped.padded_k = {4, 2};
  EXPECT_EQ(complaint_about(grouped), std::nullopt);
}

TEST(Problem, PaddingHasOneLengthOrOneASequence) {
  Problem problem;
  problem.padded_q = {64, 64};
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--seqlen-q-pad: 2 lengths for 1")));
  make_grouped(problem, {3, 5, 2}, {1, 2, 3});
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--seqlen-q-pad: 2 lengths for 3")));
}

TEST(Problem, LayoutQkvNeedsQueriesAndKeysAlike) {
  Problem problem;
  problem.layout = Layout::qkv;
  problem.nhead_k = 2;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  problem.hdim_v = 64;
  EXPECT_THAT(complaint_about(problem),
              Optional(AllOf(StartsWith("--layout: qkv"), HasSubstr("--hdim-v 64"))));
  problem.hdim_v = problem.hdim_q;
  problem.seqlen_k = 65;
  EXPECT_THAT(complaint_about(problem),
              Optional(AllOf(StartsWith("--layout: qkv"), HasSubstr("equal lengths"))));
  problem.seqlen_k = problem.seqlen_q;
  problem.padded_q = {80};
  EXPECT_THAT(complaint_about(problem), Optional(HasSubstr("padding, not 80 and 64")));
  problem.padded_k = {80};
  EXPECT_EQ(complaint_about(problem), std::nullopt);
}

TEST(Problem, TheSoftcapsReciprocalIsFinite) {
  Problem problem;
  problem.softcap = 3e-39F;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  problem.softcap = 1e-40F;
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--softcap: ")));
}

TEST(Problem, TheDropoutOffsetLeavesRoomForTheDraws) {
  Problem problem;
  problem.dropout.offset = kMaxDropoutOffset;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  ++problem.dropout.offset;
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--dropout-offset: 1152921504606846977 ")));
}

TEST(Problem, GroupModeCountsEitherTheLengthsOrThePaddedOnes) {
  Problem problem;
  make_grouped(problem, {200'000'000, 100'000'000}, {1, 1});
  problem.padded_q = {200'000'000, 100'000'000};
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  problem.padded_q = {500'000'000, 100'000'000};
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--seqlen-q-pad: ")));
}

TEST(Problem, LayoutQkvInGroupModeNeedsEveryPairOfLengthsAlike) {
  Problem problem;
  problem.layout = Layout::qkv;
  make_grouped(problem, {3, 5}, {5, 3});
  EXPECT_THAT(complaint_about(problem), Optional(HasSubstr("equal lengths")));
  make_grouped(problem, {3, 5}, {3, 5});
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  problem.padded_q = {3, 5};
  EXPECT_EQ(complaint_about(problem), std::nullopt);
  problem.padded_q = {4, 5};
  EXPECT_THAT(complaint_about(problem), Optional(HasSubstr("equal lengths")));
}

TEST(Problem, LayoutQkvWithAPaddingThatIsTheLengthIsTheOneWithout) {
  Problem problem;
  problem.layout = Layout::qkv;
  problem.padded_q = {problem.seqlen_q};
  EXPECT_EQ(complaint_about(problem), std::nullopt);
}

TEST(Problem, ABiasThatOverflowsAddressesIsRefused) {
  Problem problem;
  problem.bias = BiasShape::full;
  problem.batch = 1 << 4;
  problem.nhead_q = problem.nhead_k = 1;
  problem.seqlen_q = problem.seqlen_k = kMaxExtent;
  EXPECT_THAT(complaint_about(problem), Optional(StartsWith("--bias: full")));
  problem.bias = BiasShape::none;
  EXPECT_EQ(complaint_about(problem), std::nullopt);
}

TEST(Problem, TheDefaultScaleIsOneOverTheRootOfTheHeadDimension) {
  EXPECT_EQ(default_scale(64), 0.125F);
  EXPECT_EQ(default_scale(1), 1.0F);
  EXPECT_EQ(default_scale(128), Problem{}.scale);
  EXPECT_EQ(default_scale(80), static_cast<float>(1.0 / std::sqrt(80.0)));
}

}  // namespace
}  // namespace fmha_bwd
