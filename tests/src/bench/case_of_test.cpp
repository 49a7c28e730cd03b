#include "src/bench/case_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "src/bench/bench_options.h"
#include "tests/src/options_of.h"

namespace fmha_bwd {
namespace {

using ::testing::SizeIs;

BenchCase item_of(const std::vector<std::string>& words, Operation operation = Operation::backward) {
  return case_of(operation, options(words));
}

std::string name(const std::vector<std::string>& words, Operation operation = Operation::backward) {
  return item_of(words, operation).name;
}

/// Without quotes.
Words words_of(const std::string& command) {
  std::istringstream text(command);
  return {std::istream_iterator<std::string>(text), {}};
}

TEST(CaseOf, NamesHaveMaskTypeBatchHeadsLengthsAndHeadDimension) {
  EXPECT_EQ(name({"--mask", "n"}), "no_mask/fp16/B2/H8/S64/D128");
  EXPECT_EQ(name({"--mask", "b",         "--dtype",  "bf16",       "--batch",   "1",          "--nhead",
                  "32",     "--nhead-k", "8",        "--seqlen-q", "128",       "--seqlen-k", "192",
                  "--hdim", "192",       "--hdim-v", "128",        "--dropout", "0.1"}),
            "bottom_right/bf16/B1/H32:8/S128:192/D192:128/dropout:0.1");
  EXPECT_EQ(name({"--mask", "t:2,3"}), "top_left:2,3/fp16/B2/H8/S64/D128");
}

TEST(CaseOf, NamesOfGroupsHaveTheLengthsAndTheMode) {
  EXPECT_EQ(name({"--mask", "n", "--seqlen-q", "5,6", "--seqlen-k", "7,6"}),
            "no_mask/fp16/B2/H8/S5,6:7,6/D128/mode:group");
  EXPECT_EQ(name({"--mask", "n", "--seqlen-q", "5,6", "--seqlen-k", "5,6"}),
            "no_mask/fp16/B2/H8/S5,6/D128/mode:group");
}

TEST(CaseOf, NamesHaveWhatElseIsNotAtItsDefault) {
  EXPECT_EQ(item_of({"--mask", "n"}).extras, "");
  EXPECT_EQ(item_of({"--mask", "n", "--sink", "--alibi", "--seed", "7", "--layout", "bshd"}).extras,
            "layout:bshd/alibi/sink/seed:7");
  EXPECT_EQ(
      item_of({"--mask", "n", "--seed", "42", "--layout", "bhsd", "--no-sink", "--softcap", "0"}).extras, "");
}

TEST(CaseOf, NamesDoNotHaveTheDeviceOrTheVerification) {
  EXPECT_EQ(name({"--mask", "n", "--device", "emulator", "--verify", "sample:9"}), name({"--mask", "n"}));
}

TEST(CaseOf, NamesOfTheReferenceHaveItsArithmetic) {
  EXPECT_EQ(name({"--mask", "n"}, Operation::exact_reference), "reference/no_mask/fp64/B2/H8/S64/D128");
  EXPECT_EQ(name({"--mask", "n", "--dtype", "fp32"}, Operation::textbook_reference),
            "reference/no_mask/fp32/B2/H8/S64/D128/textbook");
}

// One way to change each option of a problem.
const std::vector<std::vector<std::string>> kChanges = {
    {},
    {"--mask", "t"},
    {"--mask", "b"},
    {"--mask", "t:1,0"},
    {"--mask", "b:1,0"},
    {"--mask", "prefix:3"},
    {"--mask", "document:3"},
    {"--mask", "document_causal:3"},
    {"--batch", "1"},
    {"--nhead", "4"},
    {"--nhead-k", "4"},
    {"--nhead-k", "2"},
    {"--seqlen-q", "32"},
    {"--seqlen-k", "32"},
    {"--seqlen-q", "32", "--seqlen-k", "32"},
    {"--mode", "group"},
    {"--batch", "1", "--mode", "group"},
    {"--seqlen-q", "64,32"},
    {"--seqlen-k", "64,32"},
    {"--mode", "group", "--seqlen-q-pad", "65"},
    {"--mode", "group", "--seqlen-k-pad", "65"},
    {"--hdim", "64"},
    {"--hdim-v", "64"},
    {"--hdim", "64", "--hdim-v", "128"},
    {"--dtype", "bf16"},
    {"--dtype", "fp32"},
    {"--layout", "bshd"},
    {"--layout", "qkv"},
    {"--deterministic"},
    {"--scale", "0.5"},
    {"--scale", "0.25"},
    {"--softcap", "30"},
    {"--bias", "shared"},
    {"--bias", "head"},
    {"--alibi"},
    {"--sink"},
    {"--dropout", "0.1"},
    {"--dropout", "0.2"},
    {"--dropout", "0.1", "--dropout-seed", "2"},
    {"--dropout", "0.1", "--dropout-offset", "2"},
    {"--fill", "uniform"},
    {"--fill-do", "ones"},
    {"--seed", "1"},
    {"--std", "1"},
    {"--arch", "gfx90a"},
    {"--arch", "gfx942"},
    {"--kernel", "simt"},
    {"--kernel", "plain"},
};

std::vector<std::string> changed(const std::vector<std::string>& change) {
  std::vector<std::string> words = {"--mask", "n"};
  if (!change.empty() && change.front() == "--mask") words.clear();
  words.insert(words.end(), change.begin(), change.end());
  return words;
}

TEST(CaseOf, CasesThatDifferInAnyOptionHaveDifferentNames) {
  std::map<std::string, std::string> commands;
  for (const auto& change : kChanges) {
    const BenchCase item = item_of(changed(change));
    const auto [before, is_new] = commands.emplace(item.name, item.command);
    EXPECT_TRUE(is_new) << item.name << " is " << before->second << " and " << item.command;
  }
  EXPECT_EQ(commands.size(), kChanges.size());
}

/// The one case that bench has for its command.
void expect_reproduced(const BenchCase& item) {
  Words words = words_of(item.command);
  ASSERT_GE(words.size(), 2U);
  EXPECT_EQ(words[0] + " " + words[1], "fmha_bwd bench");
  words.erase(words.begin(), words.begin() + 2);
  const BenchOptions bench = bench_options(words);
  const std::vector<PlannedCase> planned = plan_cases(bench.lines, bench.on_cpu());
  ASSERT_THAT(planned, SizeIs(1)) << item.command;
  EXPECT_EQ(planned.front().item, item) << item.command;
}

TEST(CaseOf, TheCommandHasThisCaseAlone) {
  for (const auto& change : kChanges) expect_reproduced(item_of(changed(change)));
}

TEST(CaseOf, TheCommandOfTheReferenceIsOnTheCpu) {
  for (const Operation operation : {Operation::exact_reference, Operation::textbook_reference}) {
    expect_reproduced(item_of({"--mask", "t", "--sink", "--hdim", "16"}, operation));
  }
  EXPECT_EQ(item_of({"--mask", "t"}, Operation::textbook_reference).command,
            "fmha_bwd bench --mask top_left --device cpu --kernel textbook");
}

TEST(CaseOf, PairsAndFlopsAreThoseOfTheMask) {
  const BenchCase item = item_of({"--mask", "b", "--batch", "3", "--nhead", "4", "--nhead-k", "2",
                                  "--seqlen-q", "128", "--seqlen-k", "192", "--hdim", "5", "--hdim-v", "7"});
  EXPECT_EQ(item.all_pairs, 24576);
  EXPECT_EQ(item.visible_pairs, 16448);
  // 3 * 4 heads; a pair takes 3 * 2 * 5 + 2 * 2 * 7 = 58 operations.
  EXPECT_EQ(item.flops, 12.0 * 16448.0 * 58.0);
  EXPECT_EQ(item.flops_dense, 12.0 * 24576.0 * 58.0);
}

TEST(CaseOf, TheReferencesFlopsHaveTheForwardPassToo) {
  const std::vector<std::string> words = {"--mask",     "n",      "--batch",    "1",        "--nhead",
                                          "1",          "--hdim", "5",          "--hdim-v", "7",
                                          "--seqlen-q", "2",      "--seqlen-k", "3"};
  // 58 operations a pair backward, 2 * 5 + 2 * 7 forward.
  EXPECT_EQ(item_of(words, Operation::exact_reference).flops, 6.0 * (58.0 + 24.0));
  EXPECT_EQ(item_of(words).flops, 6.0 * 58.0);
}

TEST(CaseOf, BytesAreOfEachInputAndEachGradientOnce) {
  const std::vector<std::string> words = {"--mask",    "n", "--batch",    "2", "--nhead",    "4",
                                          "--nhead-k", "2", "--seqlen-q", "3", "--seqlen-k", "5",
                                          "--hdim",    "6", "--hdim-v",   "7"};
  const double q = 2 * 4 * 3 * 6 * 2;  // batch, heads, rows, columns, bytes; dQ too
  const double k = 2 * 2 * 5 * 6 * 2;
  const double v = 2 * 2 * 5 * 7 * 2;
  const double o = 2 * 4 * 3 * 7 * 2;  // dO too
  const double lse = 2 * 4 * 3 * 4;
  EXPECT_EQ(item_of(words).bytes, 2 * q + 2 * k + 2 * v + 2 * o + lse);
}

TEST(CaseOf, MembersAreTheProblems) {
  const BenchCase item = item_of({"--mask", "t", "--seqlen-q", "5,6", "--seqlen-k", "7,9", "--layout", "bshd",
                                  "--std", "2", "--seed", "3", "--fill-do", "ones", "--dtype", "bf16"});
  EXPECT_EQ(item.operation, "backward");
  EXPECT_EQ(item.mask, "top_left");
  EXPECT_EQ(item.dtype, "bf16");
  EXPECT_EQ(item.layout, "bshd");
  EXPECT_EQ(item.batch, 2);
  EXPECT_EQ(item.seqlen_q, 6);
  EXPECT_EQ(item.seqlen_k, 9);
  EXPECT_EQ(item.seqlens_q, (std::vector<std::int64_t>{5, 6}));
  EXPECT_EQ(item.seqlens_k, (std::vector<std::int64_t>{7, 9}));
  EXPECT_EQ(item.fill, "normal std=2 dO=1 seed=3");
  EXPECT_EQ(item.verification, "");
  EXPECT_TRUE(item.rounds.empty());
}

}  // namespace
}  // namespace fmha_bwd
