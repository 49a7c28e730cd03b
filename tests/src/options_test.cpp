#include "src/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/src/options_of.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Options, TheLastOfAFlagAndItsOppositeCounts) {
  EXPECT_FALSE(options({"--sink", "--no-sink"}).problem.sink);
  EXPECT_TRUE(options({"--no-sink", "--sink"}).problem.sink);
  EXPECT_FALSE(options({"--alibi", "--no-alibi"}).problem.alibi);
  EXPECT_TRUE(options({"--no-deterministic", "--deterministic", "--deterministic"}).problem.deterministic);
}

TEST(Options, WithoutArgumentsAreTheDefaults) {
  const CommandLine command_line = parse({});
  EXPECT_EQ(command_line.request, Request::run);
  const Options& o = command_line.options;
  EXPECT_EQ(o.problem.batch, 2);
  EXPECT_EQ(o.problem.nhead_q, 8);
  EXPECT_EQ(o.problem.nhead_k, 8);
  EXPECT_EQ(o.problem.seqlen_q, 64);
  EXPECT_EQ(o.problem.seqlen_k, 64);
  EXPECT_EQ(o.problem.hdim_q, 128);
  EXPECT_EQ(o.problem.hdim_v, 128);
  EXPECT_EQ(o.problem.dtype, DType::fp16);
  EXPECT_EQ(o.problem.scale, 0.088388346F);
  EXPECT_EQ(o.problem.layout, Layout::bhsd);
  EXPECT_THAT(o.masks, ElementsAre(kNoMask, kTopLeft, kBottomRight));
  EXPECT_EQ(o.fill.seed, 42U);
  EXPECT_EQ(o.fill.standard_deviation, 0.1F);
  EXPECT_EQ(o.device, "auto");
  EXPECT_EQ(o.arch, std::nullopt);
  EXPECT_EQ(o.kernel, "auto");
  EXPECT_EQ(o.warmup, std::nullopt);
  EXPECT_EQ(o.repeat, std::nullopt);
  EXPECT_EQ(o.verify, VerifyHow::automatic);
  EXPECT_EQ(o.sample_rows, std::nullopt);
  EXPECT_EQ(o.reference, ReferenceOn::cpu);
  EXPECT_EQ(o.format, Format::table);
  EXPECT_EQ(o.output, std::nullopt);
  EXPECT_TRUE(o.problem.plain_scores());
  EXPECT_FALSE(o.problem.grouped());
  EXPECT_TRUE(o.problem.padded_q.empty());
  EXPECT_FALSE(o.problem.deterministic);
  EXPECT_EQ(o.fill.kind, FillKind::normal);
  EXPECT_FALSE(o.fill.d_o_is_one);
  EXPECT_EQ(o.check_determinism, std::nullopt);
  EXPECT_FALSE(o.emulator_stats);
  EXPECT_EQ(o.random, std::nullopt);
  EXPECT_EQ(o.load, std::nullopt);
  EXPECT_EQ(o.save, std::nullopt);
  EXPECT_EQ(o.save_on_failure, std::nullopt);
  EXPECT_FALSE(o.quiet);
  EXPECT_FALSE(o.verbose);
}

TEST(Options, TakeEveryValueThatIsGiven) {
  const Options o = options({"--batch",  "3",          "--nhead",  "6",          "--nhead-k",
                             "2",        "--seqlen-q", "5",        "--seqlen-k", "7",
                             "--hdim",   "16",         "--hdim-v", "24",         "--dtype",
                             "bf16",     "--scale",    "-0.5",     "--seed",     "18446744073709551615",
                             "--std",    "1.5",        "--device", "nvidia:1",   "--arch",
                             "sm_90a",   "--kernel",   "hopper",   "--verify",   "none",
                             "--warmup", "0",          "--repeat", "9",          "--format",
                             "csv",      "--output",   "x.csv",    "--quiet",    "--layout",
                             "bshd"});
  EXPECT_EQ(o.problem.batch, 3);
  EXPECT_EQ(o.problem.nhead_q, 6);
  EXPECT_EQ(o.problem.nhead_k, 2);
  EXPECT_EQ(o.problem.seqlen_q, 5);
  EXPECT_EQ(o.problem.seqlen_k, 7);
  EXPECT_EQ(o.problem.hdim_q, 16);
  EXPECT_EQ(o.problem.hdim_v, 24);
  EXPECT_EQ(o.problem.dtype, DType::bf16);
  EXPECT_EQ(o.problem.scale, -0.5F);
  EXPECT_EQ(o.problem.layout, Layout::bshd);
  EXPECT_EQ(o.fill.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(o.fill.standard_deviation, 1.5F);
  EXPECT_EQ(o.device, "nvidia:1");
  EXPECT_EQ(o.arch, "sm_90a");
  EXPECT_EQ(o.kernel, "hopper");
  EXPECT_EQ(o.verify, VerifyHow::none);
  EXPECT_EQ(o.warmup, 0);
  EXPECT_EQ(o.repeat, 9);
  EXPECT_EQ(o.format, Format::csv);
  EXPECT_EQ(o.output, "x.csv");
  EXPECT_TRUE(o.quiet);
}

TEST(Options, TakeAWayToVerify) {
  EXPECT_EQ(options({"--verify", "full"}).verify, VerifyHow::full);
  EXPECT_EQ(options({"--verify", "sample"}).verify, VerifyHow::sample);
  EXPECT_EQ(options({"--verify", "sample"}).sample_rows, std::nullopt);
  const Options sampled = options({"--verify", "sample:300"});
  EXPECT_EQ(sampled.verify, VerifyHow::sample);
  EXPECT_EQ(sampled.sample_rows, 300);
  EXPECT_EQ(options({"--verify", "sample:1000000000"}).sample_rows, 1'000'000'000);
  EXPECT_EQ(options({"--verify", "sample:300", "--verify", "full"}).sample_rows, std::nullopt);
  EXPECT_EQ(options({"--reference", "device"}).reference, ReferenceOn::device);
  EXPECT_EQ(options({"--reference", "cpu", "--verify", "sample"}).reference, ReferenceOn::cpu);
  EXPECT_EQ(options({"--random", "3", "--reference", "device"}).reference, ReferenceOn::device);
}

TEST(Options, TakeEverythingThatHappensToScores) {
  const Options o = options({"--softcap",
                             "30",
                             "--bias",
                             "batch",
                             "--alibi",
                             "--sink",
                             "--dropout",
                             "0.25",
                             "--dropout-seed",
                             "18446744073709551615",
                             "--dropout-offset",
                             "7",
                             "--deterministic",
                             "--fill",
                             "extreme",
                             "--fill-do",
                             "ones",
                             "--check-determinism",
                             "5",
                             "--emulator-stats",
                             "--save-on-failure",
                             "folder"});
  EXPECT_EQ(o.problem.softcap, 30.0F);
  EXPECT_EQ(o.problem.bias, BiasShape::batch);
  EXPECT_TRUE(o.problem.alibi);
  EXPECT_TRUE(o.problem.sink);
  EXPECT_EQ(o.problem.dropout, (Dropout{0.25F, std::numeric_limits<std::uint64_t>::max(), 7}));
  EXPECT_TRUE(o.problem.deterministic);
  EXPECT_EQ(o.fill.kind, FillKind::extreme);
  EXPECT_TRUE(o.fill.d_o_is_one);
  EXPECT_EQ(o.check_determinism, 5);
  EXPECT_TRUE(o.emulator_stats);
  EXPECT_EQ(o.save_on_failure, "folder");
}

TEST(Options, TakeTheNamesOfBiasesThatOtherToolsHave) {
  const std::vector<std::pair<const char*, BiasShape>> names = {
      {"none", BiasShape::none},   {"n", BiasShape::none},    {"shared", BiasShape::shared},
      {"e", BiasShape::shared},    {"head", BiasShape::head}, {"e:1", BiasShape::head},
      {"batch", BiasShape::batch}, {"full", BiasShape::full}, {"e:2", BiasShape::full}};
  for (const auto& [name, shape] : names) EXPECT_EQ(options({"--bias", name}).problem.bias, shape) << name;
}

TEST(Options, ListsOfLengthsMeanGroupMode) {
  const Problem p = options({"--seqlen-q", "5,0,7", "--seqlen-k", "6,3,0"}).problem;
  EXPECT_TRUE(p.grouped());
  EXPECT_EQ(p.batch, 3);
  EXPECT_EQ(p.seqlen_q, 7);
  EXPECT_EQ(p.seqlen_k, 6);
  EXPECT_THAT(p.seqlens_q, ElementsAre(5, 0, 7));
  EXPECT_THAT(p.seqlens_k, ElementsAre(6, 3, 0));
  EXPECT_TRUE(p.padded_q.empty());
}

TEST(Options, OneLengthInGroupModeStandsForAllSequences) {
  const Problem p = options({"--mode", "group", "--batch", "3", "--seqlen-q", "5"}).problem;
  EXPECT_THAT(p.seqlens_q, ElementsAre(5, 5, 5));
  EXPECT_THAT(p.seqlens_k, ElementsAre(64, 64, 64));
  const Problem q = options({"--seqlen-q", "5,6", "--seqlen-q-pad", "8", "--seqlen-k-pad", "70,64"}).problem;
  EXPECT_THAT(q.seqlens_k, ElementsAre(64, 64));
  EXPECT_THAT(q.padded_q, ElementsAre(8, 8));
  EXPECT_THAT(q.padded_k, ElementsAre(70, 64));
}

TEST(Options, InBatchModePadEverySequenceAlike) {
  const Problem p = options({"--seqlen-q-pad", "80"}).problem;
  EXPECT_FALSE(p.grouped());
  EXPECT_THAT(p.padded_q, ElementsAre(80));
  EXPECT_TRUE(p.padded_k.empty());
}

TEST(Options, RandomProblemsAreARequestOfTheirOwn) {
  const CommandLine line = parse({"--random", "20", "--seed", "3", "--kernel", "simt", "--quiet"});
  EXPECT_EQ(line.request, Request::random);
  EXPECT_EQ(line.options.random, 20);
  EXPECT_EQ(line.options.fill.seed, 3U);
}

TEST(Options, DefaultsFollowTheValuesTheyAreMadeFrom) {
  const Options o = options({"--nhead", "4", "--hdim=64"});
  EXPECT_EQ(o.problem.nhead_k, 4);
  EXPECT_EQ(o.problem.hdim_v, 64);
  EXPECT_EQ(o.problem.scale, 0.125F);
}

TEST(Options, MasksComeAsAListOrRepeatedAndEachOnce) {
  EXPECT_THAT(options({"--mask", "top_left"}).masks, ElementsAre(kTopLeft));
  EXPECT_THAT(options({"--mask", "bottom_right,no_mask,bottom_right"}).masks,
              ElementsAre(kBottomRight, kNoMask));
  EXPECT_THAT(options({"--mask", "top_left", "--hdim", "8", "--mask=no_mask,top_left"}).masks,
              ElementsAre(kTopLeft, kNoMask));
}

TEST(Options, MasksTakeNumbersAndShortForms) {
  EXPECT_THAT(
      options({"--mask", "t:128,30,n,b:4,-1", "--mask", "document:3,4", "--mask", "0,1"}).masks,
      ElementsAre(MaskSpec{.alignment = Alignment::top_left, .left = 128, .right = 30, .document_ends = {}},
                  kNoMask, MaskSpec{.left = 4, .document_ends = {}}, masks_from("document:3,4").front(),
                  kTopLeft));
}

TEST(Options, TheLastOfARepeatedOptionCounts) {
  EXPECT_EQ(options({"--hdim", "64", "--hdim", "32"}).problem.hdim_q, 32);
}

TEST(Options, ADashAsOutputIsStdout) { EXPECT_EQ(options({"--output", "-"}).output, std::nullopt); }

TEST(Options, HelpWinsOverBadValues) {
  EXPECT_EQ(parse({"--hdim", "0", "--help"}).request, Request::help);
  EXPECT_EQ(parse({"-h"}).request, Request::help);
  EXPECT_EQ(parse({"--version"}).request, Request::version);
}

TEST(Options, KernelListIsARequestOfItsOwn) {
  EXPECT_EQ(parse({"--kernel", "list"}).request, Request::list_kernels);
}

TEST(Options, ADeviceComesApartIntoPlatformAndIndex) {
  EXPECT_EQ(device_request("auto").platform, "auto");
  EXPECT_EQ(device_request("amd").index, std::nullopt);
  EXPECT_EQ(device_request("nvidia:7").platform, "nvidia");
  EXPECT_EQ(device_request("nvidia:7").index, 7);
}

TEST(Help, NamesEveryOptionAndExitCodeWithinAHundredColumns) {
  const std::string help = help_text();
  for (const char* option : {"--mask",
                             "--batch",
                             "--nhead N",
                             "--nhead-k",
                             "--seqlen-q",
                             "--seqlen-k",
                             "--hdim N",
                             "--hdim-v",
                             "--dtype",
                             "--scale",
                             "--seed",
                             "--std",
                             "--device",
                             "--arch",
                             "--kernel",
                             "--verify",
                             "--reference",
                             "--warmup",
                             "--repeat",
                             "--format",
                             "--output",
                             "--quiet",
                             "--verbose",
                             "--layout",
                             "--help",
                             "--mode",
                             "--seqlen-q-pad",
                             "--seqlen-k-pad",
                             "--softcap",
                             "--bias",
                             "--alibi,--no-alibi ",
                             "--sink,--no-sink ",
                             "--dropout P",
                             "--dropout-seed",
                             "--dropout-offset",
                             "--deterministic",
                             "--check-determinism",
                             "--emulator-stats",
                             "--fill KIND",
                             "--fill-do",
                             "--load",
                             "--save DIR",
                             "--save-on-failure",
                             "--random",
                             "document_causal:N",
                             "xb:W",
                             "--version",
                             "Exit codes:",
                             "6  device or runtime error"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
  std::size_t begin = 0;
  for (std::size_t end = help.find('\n'); end != std::string::npos; end = help.find('\n', begin)) {
    EXPECT_LE(end - begin, 100U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace fmha_bwd
