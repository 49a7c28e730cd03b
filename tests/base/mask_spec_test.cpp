#include "base/mask_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/problem.h"

namespace fmha_bwd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> names(const std::string& list) {
  std::vector<std::string> result;
  for (const MaskSpec& mask : masks_from(list)) result.push_back(name_of(mask));
  return result;
}

std::string refusal_of(const std::string& list) {
  try {
    masks_from(list);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_usage);
    return error.what();
  }
  ADD_FAILURE() << "'" << list << "' was taken";
  return "";
}

TEST(MaskSpec, TheBasicMasksHaveTheirNames) {
  EXPECT_EQ(name_of(kNoMask), "no_mask");
  EXPECT_EQ(name_of(kTopLeft), "top_left");
  EXPECT_EQ(name_of(kBottomRight), "bottom_right");
  EXPECT_THAT(basic_masks(), ElementsAre(kNoMask, kTopLeft, kBottomRight));
}

TEST(MaskSpec, EveryNameIsReadBack) {
  for (const std::string name :
       {"no_mask", "top_left", "bottom_right", "top_left:1,2", "top_left:0,0", "top_left:5,-1",
        "bottom_right:3,0", "bottom_right:-1,4", "bottom_right:128,30", "prefix:1", "prefix:17", "document:5",
        "document:3,4,1", "document_causal:3", "document_causal:1,1,9", "generic:0,4", "generic:5,-2",
        "generic:-1,3"}) {
    EXPECT_THAT(names(name), ElementsAre(name));
    const MaskSpec mask = masks_from(name).front();
    EXPECT_EQ(masks_from(name_of(mask)).front(), mask);
  }
}

TEST(MaskSpec, ShortFormsOfOtherToolsAreTaken) {
  EXPECT_THAT(names("0"), ElementsAre("no_mask"));
  EXPECT_THAT(names("n"), ElementsAre("no_mask"));
  EXPECT_THAT(names("1"), ElementsAre("top_left"));
  EXPECT_THAT(names("t"), ElementsAre("top_left"));
  EXPECT_THAT(names("2"), ElementsAre("bottom_right"));
  EXPECT_THAT(names("b"), ElementsAre("bottom_right"));
  EXPECT_THAT(names("t:128,30"), ElementsAre("top_left:128,30"));
  EXPECT_THAT(names("b:4,35"), ElementsAre("bottom_right:4,35"));
  EXPECT_THAT(names("g:0,3"), ElementsAre("generic:0,3"));
}

TEST(MaskSpec, ACentredWindowHasAsManyKeysAsItSays) {
  EXPECT_THAT(names("xt:5"), ElementsAre("top_left:2,2"));
  EXPECT_THAT(names("xt:4"), ElementsAre("top_left:2,1"));
  EXPECT_THAT(names("xb:1"), ElementsAre("bottom_right:0,0"));
  EXPECT_THAT(names("xb:3"), ElementsAre("bottom_right:1,1"));
  EXPECT_THAT(names("xt:0"), ElementsAre("top_left"));
  EXPECT_THAT(names("xb:-1"), ElementsAre("bottom_right"));
}

TEST(MaskSpec, DifferentWordsForOneMaskGiveOneName) {
  EXPECT_THAT(names("t:-1,0"), ElementsAre("top_left"));
  EXPECT_THAT(names("b:-1,0"), ElementsAre("bottom_right"));
  EXPECT_THAT(names("t:-1,-1"), ElementsAre("no_mask"));
  EXPECT_THAT(names("b:-1,-1"), ElementsAre("no_mask"));
  EXPECT_THAT(names("g:3,2"), ElementsAre("top_left:2,1"));
  EXPECT_THAT(names("prefix:0"), ElementsAre("top_left"));
  EXPECT_EQ(masks_from("t:-1,-1").front(), kNoMask);
  EXPECT_EQ(masks_from("prefix:0").front(), kTopLeft);
  EXPECT_EQ(masks_from("t:-1,0").front(), kTopLeft);
}

TEST(MaskSpec, AListIsCutWhereNumbersEnd) {
  EXPECT_THAT(names("t:128,30,n,b:4,-1,document:3,4"),
              ElementsAre("top_left:128,30", "no_mask", "bottom_right:4,-1", "document:3,4"));
  EXPECT_THAT(names("no_mask,top_left,bottom_right"), ElementsAre("no_mask", "top_left", "bottom_right"));
  EXPECT_THAT(names("t:1,2,0,1,2"), ElementsAre("top_left:1,2", "no_mask", "top_left", "bottom_right"));
  EXPECT_THAT(names("xt:3,2"), ElementsAre("top_left:1,1", "bottom_right"));
  EXPECT_THAT(names("prefix:3,1,b"), ElementsAre("prefix:3", "top_left", "bottom_right"));
  EXPECT_THAT(names("document:3,4,1,b,document_causal:2,2"),
              ElementsAre("document:3,4,1", "bottom_right", "document_causal:2,2"));
}

TEST(MaskSpec, AListHasEachMaskOnceInTheOrderGiven) {
  EXPECT_THAT(names("b,n,2,0,t,b"), ElementsAre("bottom_right", "no_mask", "top_left"));
  EXPECT_THAT(names("t:2,1,xt:4,g:3,2"), ElementsAre("top_left:2,1"));
}

TEST(MaskSpec, LimitsBeyondEveryLengthAreNone) {
  const std::string huge = "9223372036854775807";
  EXPECT_THAT(names("t:" + huge + "," + huge), ElementsAre("no_mask"));
  EXPECT_THAT(names("b:" + huge + ",0"), ElementsAre("bottom_right"));
  EXPECT_THAT(names("g:" + huge + "," + huge), ElementsAre("no_mask"));
  EXPECT_THAT(names("xt:" + huge), ElementsAre("no_mask"));
  EXPECT_THAT(names("b:0," + huge), ElementsAre("bottom_right:0,-1"));
  EXPECT_EQ(masks_from("prefix:" + huge).front().prefix, kUnbounded);
  masks_from("g:-9223372036854775808,-9223372036854775808");
}

TEST(MaskSpec, ANameOfTheLargestNumbersIsReadBack) {
  for (const std::string name : {"prefix:9223372036854775807", "g:-9223372036854775808,9223372036854775807",
                                 "g:9223372036854775807,-9223372036854775808", "xb:9223372036854775807",
                                 "document:536870911,536870911"}) {
    const MaskSpec mask = masks_from(name).front();
    EXPECT_EQ(masks_from(name_of(mask)).front(), mask) << name;
  }
}

TEST(MaskSpec, ARefusalNamesTheOptionTheItemAndWhatIsAllowed) {
  EXPECT_THAT(refusal_of("n,causal"),
              AllOf(StartsWith("--mask: 'causal' is not a mask; allowed are no_mask, top_left"),
                    HasSubstr("document:N,..."), HasSubstr("xt:W"), Not(HasSubstr("\n"))));
}

TEST(MaskSpec, WhatIsNoMaskIsRefused) {
  for (const std::string bad : {"", ",", "n,", ",n", "3", "-1", "N", "top-left", "n:1", "no_mask:1,1",
                                "1:2,3", "0:1", " n", "x:3", "sliding:3", "nt"}) {
    EXPECT_THAT(refusal_of(bad), HasSubstr("is not a mask")) << bad;
  }
}

TEST(MaskSpec, NumbersThatAreNoneAreRefused) {
  for (const std::string bad : {"t:", "t:a,b", "t:1.5,2", "t:+1,2", "t:1e3,0", "prefix:", "xt:w", "g:,1",
                                "document:", "t:--1,0", "t: 1,2", "b:-,0"}) {
    EXPECT_THAT(refusal_of(bad), HasSubstr("is not a whole number")) << bad;
  }
  EXPECT_THAT(refusal_of("t:9223372036854775808,0"), HasSubstr("is not in -2^63..2^63-1"));
  EXPECT_THAT(refusal_of("document:1,9223372036854775808"), HasSubstr("is not in -2^63..2^63-1"));
}

TEST(MaskSpec, TooFewNumbersAreRefused) {
  EXPECT_THAT(refusal_of("t:3"), HasSubstr("'t:3' takes 2 numbers after its colon, not 1"));
  EXPECT_THAT(refusal_of("bottom_right:3,n"), HasSubstr("takes 2 numbers after its colon, not 1"));
  EXPECT_THAT(refusal_of("generic:3"), HasSubstr("takes 2 numbers after its colon, not 1"));
  EXPECT_THAT(refusal_of("prefix"), HasSubstr("takes 1 number after its colon, not 0"));
  EXPECT_THAT(refusal_of("xt"), HasSubstr("takes 1 number after its colon, not 0"));
  EXPECT_THAT(refusal_of("document"), HasSubstr("has no lengths"));
  EXPECT_THAT(refusal_of("document_causal,n"), HasSubstr("has no lengths"));
}

TEST(MaskSpec, SizesThatMeanNothingAreRefused) {
  EXPECT_THAT(refusal_of("t:-2,0"), HasSubstr("has a window size below -1"));
  EXPECT_THAT(refusal_of("b:0,-2"), HasSubstr("has a window size below -1"));
  EXPECT_THAT(refusal_of("prefix:-1"), HasSubstr("has a negative prefix"));
  EXPECT_THAT(refusal_of("document:0"), HasSubstr("has a document of 0 tokens"));
  EXPECT_THAT(refusal_of("document:3,-1"), HasSubstr("has a document of -1 tokens"));
  EXPECT_THAT(refusal_of("document:" + std::to_string(kMaxExtent + 1)), HasSubstr("allowed is 1..536870911"));
}

TEST(MaskSpec, ItsRulePointsToItsDocuments) {
  const MaskSpec mask = masks_from("document_causal:3,4").front();
  const MaskRule rule = mask.rule();
  EXPECT_EQ(rule.documents, 2);
  EXPECT_EQ(rule.document_ends, mask.document_ends.data());
  EXPECT_THAT(mask.document_ends, ElementsAre(3, 7));
  EXPECT_EQ(rule.right, 0);
  EXPECT_EQ(kBottomRight.rule().document_ends, nullptr);
}

TEST(MaskSpec, ShiftedMovesItsLimitsButNotTheUnboundedOnes) {
  EXPECT_EQ(name_of(shifted(kTopLeft, 2)), "top_left:-1,2");
  EXPECT_EQ(shifted(kNoMask, 5), kNoMask);
  EXPECT_EQ(name_of(shifted(masks_from("t:3,1").front(), 1)), "top_left:2,2");
}

}  // namespace
}  // namespace fmha_bwd
