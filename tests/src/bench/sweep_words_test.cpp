#include "src/bench/sweep_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// The values that the one option of `words` takes.
std::vector<std::string> values_of(const Words& words) {
  std::vector<std::string> values;
  for (const Words& one : sweep_words(words)) {
    EXPECT_THAT(one, SizeIs(2));
    EXPECT_EQ(one.front(), words.front());
    values.push_back(one.back());
  }
  return values;
}

std::string refusal_of(const Words& words) {
  return message_of([&] { static_cast<void>(sweep_words(words)); });
}

TEST(SweepWords, OfNothingAreOneCaseWithoutWords) { EXPECT_THAT(sweep_words({}), ElementsAre(Words{})); }

TEST(SweepWords, AListHasEachOfItsValues) {
  EXPECT_THAT(values_of({"--hdim", "64,128"}), ElementsAre("64", "128"));
  EXPECT_THAT(values_of({"--dtype", "fp16,bf16,fp32"}), ElementsAre("fp16", "bf16", "fp32"));
  EXPECT_THAT(values_of({"--dropout", "0,0.1"}), ElementsAre("0", "0.1"));
}

TEST(SweepWords, AFactorMultipliesUpToTheLast) {
  EXPECT_THAT(values_of({"--seqlen-q", "128:1024:*2"}), ElementsAre("128", "256", "512", "1024"));
  EXPECT_THAT(values_of({"--seqlen-q", "128:1000:*2"}), ElementsAre("128", "256", "512"));
  EXPECT_THAT(values_of({"--seqlen-q", "7:7:*3"}), ElementsAre("7"));
}

TEST(SweepWords, AStepAddsUpToTheLastWithOrWithoutItsSign) {
  EXPECT_THAT(values_of({"--hdim", "64:256:+64"}), ElementsAre("64", "128", "192", "256"));
  EXPECT_THAT(values_of({"--hdim", "64:250:64"}), ElementsAre("64", "128", "192"));
  EXPECT_THAT(values_of({"--seqlen-k", "0:2:1"}), ElementsAre("0", "1", "2"));
}

TEST(SweepWords, ListsMayHaveRanges) {
  EXPECT_THAT(values_of({"--batch", "1,4:16:*2,3"}), ElementsAre("1", "4", "8", "16", "3"));
}

TEST(SweepWords, RangesEndAtTheLargestNumberWithoutOverflow) {
  EXPECT_THAT(values_of({"--seed", "9223372036854775806:9223372036854775807:+1"}),
              ElementsAre("9223372036854775806", "9223372036854775807"));
  EXPECT_THAT(values_of({"--seed", "4611686018427387904:9223372036854775807:*2"}),
              ElementsAre("4611686018427387904"));
}

TEST(SweepWords, AllCombinationsAreMadeTheLastOptionFastest) {
  EXPECT_THAT(sweep_words({"--hdim", "64,128", "--mask", "t,b", "--batch", "1,2"}),
              ElementsAre(Words{"--hdim", "64", "--mask", "t,b", "--batch", "1"},
                          Words{"--hdim", "64", "--mask", "t,b", "--batch", "2"},
                          Words{"--hdim", "128", "--mask", "t,b", "--batch", "1"},
                          Words{"--hdim", "128", "--mask", "t,b", "--batch", "2"}));
}

TEST(SweepWords, AnEqualsSignStandsForASpace) {
  EXPECT_THAT(sweep_words({"--hdim=64,128"}), ElementsAre(Words{"--hdim", "64"}, Words{"--hdim", "128"}));
}

TEST(SweepWords, SeqlenIsQueriesAndKeysAlike) {
  EXPECT_THAT(sweep_words({"--seqlen", "16:32:*2"}),
              ElementsAre(Words{"--seqlen-q", "16", "--seqlen-k", "16"},
                          Words{"--seqlen-q", "32", "--seqlen-k", "32"}));
}

TEST(SweepWords, InGroupModeASemicolonStandsBetweenListsOfLengths) {
  EXPECT_THAT(sweep_words({"--mode", "group", "--seqlen-q", "100,37;64,64"}),
              ElementsAre(Words{"--mode", "group", "--seqlen-q", "100,37"},
                          Words{"--mode", "group", "--seqlen-q", "64,64"}));
  EXPECT_THAT(sweep_words({"--seqlen", "5;6,7", "--mode=group"}),
              ElementsAre(Words{"--seqlen-q", "5", "--seqlen-k", "5", "--mode", "group"},
                          Words{"--seqlen-q", "6,7", "--seqlen-k", "6,7", "--mode", "group"}));
}

TEST(SweepWords, InGroupModeOtherOptionsKeepTheComma) {
  EXPECT_THAT(
      sweep_words({"--mode", "group", "--hdim", "64,128"}),
      ElementsAre(Words{"--mode", "group", "--hdim", "64"}, Words{"--mode", "group", "--hdim", "128"}));
}

TEST(SweepWords, AFlagIsOnOffOrBoth) {
  EXPECT_THAT(sweep_words({"--sink=on,off"}), ElementsAre(Words{"--sink"}, Words{"--no-sink"}));
  EXPECT_THAT(sweep_words({"--alibi=off"}), ElementsAre(Words{"--no-alibi"}));
  EXPECT_THAT(sweep_words({"--deterministic"}), ElementsAre(Words{"--deterministic"}));
}

TEST(SweepWords, AFlagTakesNoWordBehindIt) {
  EXPECT_THAT(sweep_words({"--sink", "--hdim", "1,2"}),
              ElementsAre(Words{"--sink", "--hdim", "1"}, Words{"--sink", "--hdim", "2"}));
}

TEST(SweepWords, WhatIsNoProblemsOptionStaysAsItIs) {
  const Words words = {"--mask", "top_left:2,2,prefix:4", "--device", "a,b", "stray,word", "--unknown",
                       "1:2"};
  EXPECT_THAT(sweep_words(words), ElementsAre(words));
}

TEST(SweepWords, AnOptionWithoutAValueStaysForTheRunToRefuse) {
  EXPECT_THAT(sweep_words({"--hdim"}), ElementsAre(Words{"--hdim"}));
  EXPECT_THAT(sweep_words({"--hdim", "--sink"}), ElementsAre(Words{"--hdim", "--sink"}));
}

TEST(SweepWords, RefusesWhatIsNoRange) {
  const std::string allowed = " is no range; allowed are FIRST:LAST:*FACTOR and FIRST:LAST:+STEP";
  for (const std::string text : {"1:2", "1:2:", "1:2:3:4", ":"}) {
    EXPECT_EQ(refusal_of({"--hdim", text}), "--hdim: '" + text + "'" + allowed);
  }
  EXPECT_EQ(refusal_of({"--seqlen", "1:2"}), "--seqlen: '1:2'" + allowed);
}

TEST(SweepWords, RefusesRangesThatEndBeforeTheyBeginOrNeverDo) {
  EXPECT_EQ(refusal_of({"--hdim", "9:8:+1"}), "--hdim: '9:8:+1' ends before it begins");
  EXPECT_THAT(refusal_of({"--hdim", "1:8:*1"}), HasSubstr("--hdim: 1 is not in 2..9223372036854775807"));
  EXPECT_THAT(refusal_of({"--hdim", "1:8:+0"}), HasSubstr("--hdim: 0 is not in 1..9223372036854775807"));
  EXPECT_EQ(refusal_of({"--seqlen-q", "0:8:*2"}),
            "--seqlen-q: '0:8:*2' never grows; allowed is a first of 1 or more");
}

TEST(SweepWords, RefusesRangesOfWhatAreNoWholeNumbers) {
  EXPECT_EQ(refusal_of({"--hdim", "a:8:+1"}), "--hdim: 'a' is not a whole number");
  EXPECT_EQ(refusal_of({"--hdim", "1:8x:+1"}), "--hdim: '8x' is not a whole number");
  EXPECT_EQ(refusal_of({"--hdim", "1:8:*1.5"}), "--hdim: '1.5' is not a whole number");
  EXPECT_THAT(refusal_of({"--hdim", "-1:8:+1"}), HasSubstr("--hdim: -1 is not in 0.."));
  EXPECT_THAT(refusal_of({"--hdim", "1:9223372036854775808:*2"}), HasSubstr("--hdim: 9223372036854775808"));
}

TEST(SweepWords, RefusesAFlagThatIsNeitherOnNorOff) {
  EXPECT_EQ(refusal_of({"--sink=yes"}),
            "--sink: 'yes' is not allowed; one of on, off, or both: --sink=on,off");
  EXPECT_THAT(refusal_of({"--alibi="}), HasSubstr("--alibi: '' is not allowed"));
}

TEST(SweepWords, RefusesMoreThanAMillionCombinations) {
  EXPECT_EQ(sweep_words({"--seed", "1:1000:+1", "--batch", "1:1000:+1"}).size(), kMostCombinations);
  EXPECT_EQ(refusal_of({"--seed", "1:1000:+1", "--batch", "1:1001:+1"}),
            "--batch: makes more than 1000000 cases");
  EXPECT_EQ(refusal_of({"--seed", "1:9223372036854775807:+1"}),
            "--seed: '1:9223372036854775807:+1' has too many numbers");
}

}  // namespace
}  // namespace fmha_bwd
