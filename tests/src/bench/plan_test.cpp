#include "src/bench/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/files/files_test.h"

namespace fmha_bwd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> names_of(const std::vector<PlannedCase>& planned) {
  std::vector<std::string> names;
  for (const PlannedCase& one : planned) names.push_back(one.item.name);
  return names;
}

std::vector<PlannedCase> plan_of(const Words& words, bool on_cpu = false) {
  return plan_cases({{words, ""}}, on_cpu);
}

std::string refusal_of(const Words& words, bool on_cpu = false) {
  return message_of([&] { static_cast<void>(plan_of(words, on_cpu)); });
}

/// Of cases that are named by their hdim.
std::vector<PlannedCase> numbered(int count) {
  std::vector<PlannedCase> planned;
  for (int i = 0; i < count; ++i) {
    planned.emplace_back();
    planned.back().item.name = std::to_string(i);
  }
  return planned;
}

TEST(Plan, EachMaskOfEachCombinationIsACase) {
  const std::vector<PlannedCase> planned = plan_of({"--mask", "n,t", "--hdim", "16,32"});
  EXPECT_THAT(names_of(planned), ElementsAre("no_mask/fp16/B2/H8/S64/D16", "top_left/fp16/B2/H8/S64/D16",
                                             "no_mask/fp16/B2/H8/S64/D32", "top_left/fp16/B2/H8/S64/D32"));
  for (std::size_t i = 0; i < planned.size(); ++i) {
    EXPECT_EQ(planned[i].item.index, static_cast<std::int64_t>(i));
    EXPECT_THAT(planned[i].options.masks, SizeIs(1));
    EXPECT_EQ(planned[i].operation, Operation::backward);
  }
  EXPECT_EQ(planned[2].options.problem.hdim_q, 32);
}

TEST(Plan, WithoutWordsHasTheDefaultProblemsThreeMasks) { EXPECT_THAT(plan_of({}), SizeIs(3)); }

TEST(Plan, EachNameIsThereOnceOverAllLines) {
  const std::vector<PlannedCase> planned =
      plan_cases({{{"--mask", "n", "--hdim", "16,16"}, ""}, {{"--mask", "t,n", "--hdim", "16"}, ""}}, false);
  EXPECT_THAT(names_of(planned), ElementsAre("no_mask/fp16/B2/H8/S64/D16", "top_left/fp16/B2/H8/S64/D16"));
  EXPECT_EQ(planned[1].item.index, 1);
}

TEST(Plan, OnTheCpuTakesTheReferencesKernels) {
  const std::vector<PlannedCase> planned = plan_of({"--mask", "n", "--kernel", "textbook"}, true);
  EXPECT_EQ(planned.front().operation, Operation::textbook_reference);
  EXPECT_EQ(plan_of({"--mask", "n"}, true).front().operation, Operation::exact_reference);
  EXPECT_THAT(
      names_of(plan_of({"--mask", "n", "--kernel", "exact,textbook"}, true)),
      ElementsAre("reference/no_mask/fp64/B2/H8/S64/D128", "reference/no_mask/fp16/B2/H8/S64/D128/textbook"));
  EXPECT_EQ(refusal_of({"--kernel", "simt"}, true),
            "--kernel: 'simt' is not allowed with --device cpu; one of exact, textbook");
}

TEST(Plan, RefusesARunsOptionsThatMeanNothingToASweep) {
  for (const std::string option :
       {"--random", "--save", "--save-on-failure", "--format", "--check-determinism", "--warmup", "--repeat",
        "--verbose", "--load", "--version", "--emulator-stats"}) {
    EXPECT_EQ(refusal_of({option, "1"}),
              option + ": not an option of bench; allowed in a run, without the word bench");
    EXPECT_THAT(refusal_of({option + "=1"}), StartsWith(option + ": not an option of bench"));
  }
}

TEST(Plan, RefusesWhatARunRefuses) {
  EXPECT_THAT(refusal_of({"--hdim", "16,513"}), HasSubstr("--hdim: 513 is not in 1..512"));
  EXPECT_THAT(refusal_of({"--nonsense", "1"}), HasSubstr("--nonsense"));
  EXPECT_EQ(refusal_of({"--kernel", "list"}), "--kernel: list: not allowed in a sweep");
}

TEST(Plan, SaysWhichLineOfAFileIsWrong) {
  const std::vector<SweepLine> lines = {{{"--hdim", "16"}, "first"},
                                        {{"--hdim", "0"}, "--cases: 'x', line 2"}};
  EXPECT_THAT(message_of([&] { static_cast<void>(plan_cases(lines, false)); }),
              StartsWith("--cases: 'x', line 2: --hdim: 0 is not in 1..512"));
}

TEST(ReadSweep, EachLineWithWordsIsASweepAndKnowsItsPlace) {
  const TestFolder folder;
  const auto file = folder.path() / "some.txt";
  put(file, "# a comment\n--hdim 16,32  # here too\n\n  \n--mask top_left:2,2 --sink\n--batch 1");
  const std::vector<SweepLine> lines = read_sweep(file);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0].words, ElementsAre("--hdim", "16,32"));
  EXPECT_THAT(lines[1].words, ElementsAre("--mask", "top_left:2,2", "--sink"));
  EXPECT_THAT(lines[2].words, ElementsAre("--batch", "1"));
  EXPECT_EQ(lines[0].where, "--cases: '" + file.string() + "', line 2");
  EXPECT_EQ(lines[2].where, "--cases: '" + file.string() + "', line 6");
}

TEST(ReadSweep, RefusesAFileThatCannotBeReadAndAControlCharacter) {
  const TestFolder folder;
  const auto file = folder.path() / "some.txt";
  EXPECT_THAT(message_of([&] { static_cast<void>(read_sweep(file)); }),
              StartsWith("--cases: '" + file.string() + "' cannot be read"));
  EXPECT_THAT(message_of([&] { static_cast<void>(read_sweep(folder.path())); }),
              HasSubstr("is not a regular file"));
  put(file, "--hdim 16\n--mask \x01\n");
  EXPECT_THAT(message_of([&] { static_cast<void>(read_sweep(file)); }),
              StartsWith("--cases: '" + file.string() + "', line 2"));
}

TEST(TakeOption, TakesAllAndGivesTheLast) {
  Words words = {"--x", "1", "--xy", "2", "--x=3", "y"};
  EXPECT_EQ(take_option(words, "--x"), "3");
  EXPECT_THAT(words, ElementsAre("--xy", "2", "y"));
  EXPECT_EQ(take_option(words, "--x"), std::nullopt);
  words = {"y", "--x"};
  EXPECT_EQ(take_option(words, "--x"), "");
  EXPECT_THAT(words, ElementsAre("y"));
}

TEST(Shard, IsTheIthOfN) {
  const Shard shard = shard_from("2/3");
  EXPECT_EQ(shard.index, 2U);
  EXPECT_EQ(shard.count, 3U);
  EXPECT_THAT(names_of(cases_of(numbered(8), shard)), ElementsAre("1", "4", "7"));
  EXPECT_THAT(names_of(cases_of(numbered(2), {3, 3})), IsEmpty());
}

TEST(Shard, ShardsHaveEachCaseOnce) {
  std::vector<std::string> all;
  for (std::size_t index = 1; index <= 4; ++index) {
    for (const std::string& name : names_of(cases_of(numbered(10), {index, 4}))) all.push_back(name);
  }
  EXPECT_THAT(all, ::testing::UnorderedElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
}

TEST(Shard, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& text) {
    return message_of([&] { static_cast<void>(shard_from(text)); });
  };
  EXPECT_EQ(refusal("2"), "--shard: '2' is not allowed; I/N with I from 1 to N");
  EXPECT_EQ(refusal("0/3"), "--shard: 0 is not in 1..3");
  EXPECT_EQ(refusal("4/3"), "--shard: 4 is not in 1..3");
  EXPECT_EQ(refusal("1/0"), "--shard: 0 is not in 1..1000000");
  EXPECT_EQ(refusal("1/2/3"), "--shard: '2/3' is not a whole number");
  EXPECT_EQ(refusal("a/3"), "--shard: 'a' is not a whole number");
}

TEST(Filter, FindsNamesAnywhereAndAMinusInverts) {
  const std::vector<PlannedCase> all = plan_of({"--mask", "n,t", "--hdim", "16,32"});
  EXPECT_THAT(names_of(filtered(all, "top.*D16")), ElementsAre("top_left/fp16/B2/H8/S64/D16"));
  EXPECT_THAT(names_of(filtered(all, "^(no_mask/fp16/B2/H8/S64/D16|x)$")),
              ElementsAre("no_mask/fp16/B2/H8/S64/D16"));
  EXPECT_THAT(names_of(filtered(all, "-D16")),
              ElementsAre("no_mask/fp16/B2/H8/S64/D32", "top_left/fp16/B2/H8/S64/D32"));
  EXPECT_THAT(filtered(all, "."), SizeIs(4));
  EXPECT_THAT(filtered(all, "nothing"), IsEmpty());
}

TEST(Filter, KeepsTheIndexInTheWholeSweep) {
  EXPECT_EQ(filtered(plan_of({"--mask", "n,t"}), "top_left").front().item.index, 1);
}

TEST(Filter, RefusesWhatIsNoRegularExpression) {
  EXPECT_EQ(message_of([] { static_cast<void>(filtered(numbered(1), "(")); }),
            "--benchmark_filter: '(' is no regular expression");
}

}  // namespace
}  // namespace fmha_bwd
