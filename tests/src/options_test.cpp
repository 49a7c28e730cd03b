#include "src/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/src/options_of.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct BadInput {
  std::vector<std::string> arguments;
  std::string message;
};

/// Names the case in the list of tests.
void PrintTo(const BadInput& bad, std::ostream* out) {
  for (const std::string& argument : bad.arguments) *out << argument << ' ';
}

class Refused : public testing::TestWithParam<BadInput> {};

TEST_P(Refused, InOneLineThatNamesOptionValueAndWhatIsAllowed) {
  try {
    parse(GetParam().arguments);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_usage);
    EXPECT_EQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Names, Refused,
    testing::Values(
        BadInput{{"--mask", "top_left:3"}, "--mask: 'top_left:3' takes 2 numbers after its colon, not 1"},
        BadInput{{"--mask", "document:40,30"},
                 "--mask: 'document:40,30' has 70 tokens; allowed is up to 64, the longest sequence's"},
        BadInput{{"--mask", "document:40,30", "--seqlen-q", "3,69,0", "--seqlen-k", "5"},
                 "--mask: 'document:40,30' has 70 tokens; allowed is up to 69, the longest sequence's"},
        BadInput{{"--mode", "packed"}, "--mode: 'packed' is not allowed; one of batch, group"},
        BadInput{{"--bias", "some"},
                 "--bias: 'some' is not allowed; one of none, shared, head, batch, full; n, e, e:1, e:2"},
        BadInput{{"--fill", "random"},
                 "--fill: 'random' is not allowed; one of normal, uniform, integers, zeros, extreme"},
        BadInput{{"--fill-do", "zeros"}, "--fill-do: 'zeros' is not allowed; one of fill, ones"},
        BadInput{{"--dtype", "fp7"}, "--dtype: 'fp7' is not allowed; one of fp16, bf16, fp32"},
        BadInput{{"--layout", "sbhd"}, "--layout: 'sbhd' is not allowed; one of bhsd, bshd, qkv"},
        BadInput{{"--verify", "maybe"}, "--verify: 'maybe' is not allowed; one of full, none"},
        BadInput{{"--format", "xml"}, "--format: 'xml' is not allowed; one of table, json, csv"},
        BadInput{{"--device", "gpu"},
                 "--device: 'gpu' is not allowed; one of auto, emulator, amd[:index], nvidia[:index]"},
        BadInput{{"--device", "auto:1"},
                 "--device: 'auto:1' is not allowed; one of auto, emulator, amd[:index], nvidia[:index]"},
        BadInput{{"--device", "nvidia:"}, "--device: 'nvidia:' has no index after its colon"},
        BadInput{{"--device", "nvidia:x"}, "--device: 'x' is not a whole number"},
        BadInput{{"--device", "amd:-1"}, "--device: -1 is not in 0..1023"}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, Refused,
    testing::Values(BadInput{{"--batch", "0"}, "--batch: 0 is not in 1..536870911"},
                    BadInput{{"--nhead", "0"}, "--nhead: 0 is not in 1..536870911"},
                    BadInput{{"--hdim", "0"}, "--hdim: 0 is not in 1..512"},
                    BadInput{{"--hdim", "513"}, "--hdim: 513 is not in 1..512"},
                    BadInput{{"--hdim-v", "600"}, "--hdim-v: 600 is not in 1..512"},
                    BadInput{{"--seqlen-q", "abc"}, "--seqlen-q: 'abc' is not a whole number"},
                    BadInput{{"--seqlen-q", "1.5"}, "--seqlen-q: '1.5' is not a whole number"},
                    BadInput{{"--seqlen-q", "64k"}, "--seqlen-q: '64k' is not a whole number"},
                    BadInput{{"--seqlen-q", "-"}, "--seqlen-q: '-' is not a whole number"},
                    BadInput{{"--seqlen-q", "-3"}, "--seqlen-q: -3 is not in 1..536870911"},
                    BadInput{{"--seqlen-k", "99999999999999999999"},
                             "--seqlen-k: 99999999999999999999 is not in 1..536870911"},
                    BadInput{{"--nhead", "8", "--nhead-k", "3"},
                             "--nhead-k: 3 does not divide --nhead 8; allowed is a divisor of it"},
                    BadInput{{"--std", "-1"}, "--std: -1 is not positive"},
                    BadInput{{"--std", "0"}, "--std: 0 is not positive"},
                    BadInput{{"--std", "nan"}, "--std: 'nan' is not a finite number"},
                    BadInput{{"--std", "1e-99"}, "--std: 1e-99 is beyond the range of fp32"},
                    BadInput{{"--scale", "inf"}, "--scale: 'inf' is not a finite number"},
                    BadInput{{"--scale", "-inf"}, "--scale: '-inf' is not a finite number"},
                    BadInput{{"--scale", "1e99"}, "--scale: 1e99 is beyond the range of fp32"},
                    BadInput{{"--scale", "half"}, "--scale: 'half' is not a number"},
                    BadInput{{"--scale", "0.5x"}, "--scale: '0.5x' is not a number"},
                    BadInput{{"--seed", "-1"}, "--seed: -1 is not in 0..18446744073709551615"},
                    BadInput{{"--seed", "18446744073709551616"},
                             "--seed: 18446744073709551616 is not in 0..18446744073709551615"},
                    BadInput{{"--repeat", "0"}, "--repeat: 0 is not in 1..1000000"},
                    BadInput{{"--warmup", "-1"}, "--warmup: -1 is not in 0..1000000"}));

INSTANTIATE_TEST_SUITE_P(
    Lengths, Refused,
    testing::Values(
        BadInput{{"--mode", "batch", "--seqlen-q", "3,4"},
                 "--seqlen-q: '3,4' is a list; allowed in --mode group"},
        BadInput{{"--seqlen-q", "3,4", "--seqlen-k", "3,4,5"},
                 "--seqlen-k: 3 lengths for the 2 of --seqlen-q; allowed is as many, or one for all"},
        BadInput{{"--seqlen-q", "3,4", "--seqlen-k-pad", "64,64,64"},
                 "--seqlen-k-pad: 3 lengths for the 2 of --seqlen-q; allowed is as many, or one for all"},
        BadInput{{"--batch", "3", "--seqlen-q", "3,4"},
                 "--batch: 3, but --seqlen-q has 2 lengths; allowed is 2, or no --batch"},
        BadInput{{"--seqlen-q", "3,"}, "--seqlen-q: '3,' has a comma without a number beside it"},
        BadInput{{"--seqlen-q", "3,x"}, "--seqlen-q: 'x' is not a whole number"},
        BadInput{{"--seqlen-k", "3,-1"}, "--seqlen-k: -1 is not in 0..536870911"},
        BadInput{{"--seqlen-q", "0"}, "--seqlen-q: 0 is not in 1..536870911"},
        BadInput{{"--mode", "group", "--batch", "1048577"},
                 "--batch: 1048577 is not in 1..1048576 in group mode"},
        BadInput{{"--seqlen-q-pad", "63"},
                 "--seqlen-q-pad: 63 is not in 64..536870911, from the sequence's length on"},
        BadInput{{"--seqlen-k", "3,9", "--seqlen-k-pad", "8"},
                 "--seqlen-k-pad: 8 is not in 9..536870911, from the sequence's length on"},
        BadInput{{"--layout", "qkv", "--seqlen-k", "65"},
                 "--layout: qkv holds Q, K and V in one tensor; allowed where queries and keys have equal "
                 "lengths, not 64 and 65 as in sequence 0, and equal padding"},
        BadInput{{"--layout", "qkv", "--hdim-v", "64"},
                 "--layout: qkv holds Q, K and V in one tensor; allowed where --hdim-v 64 is --hdim 128"}));

INSTANTIATE_TEST_SUITE_P(
    Scores, Refused,
    testing::Values(BadInput{{"--softcap", "-1"}, "--softcap: -1 is negative; allowed is 0 (none) or more"},
                    BadInput{{"--softcap", "nan"}, "--softcap: 'nan' is not a finite number"},
                    BadInput{{"--dropout", "1"}, "--dropout: 1 is not in [0, 1)"},
                    BadInput{{"--dropout", "-0.1"}, "--dropout: -0.1 is not in [0, 1)"},
                    BadInput{{"--dropout", "0.99999999999"}, "--dropout: 0.99999999999 is not in [0, 1)"},
                    BadInput{{"--dropout-seed", "-1"},
                             "--dropout-seed: -1 is not in 0..18446744073709551615"},
                    BadInput{{"--dropout-offset", "x"}, "--dropout-offset: 'x' is not a whole number"},
                    BadInput{{"--alibi=1"}, "--alibi: takes no value"},
                    BadInput{{"--std", "1", "--fill", "zeros"},
                             "--std: 1 has no meaning with --fill zeros; allowed is --fill normal"}));

INSTANTIATE_TEST_SUITE_P(
    Runs, Refused,
    testing::Values(BadInput{{"--check-determinism", "1"}, "--check-determinism: 1 is not in 2..1000000"},
                    BadInput{{"--random", "0"}, "--random: 0 is not in 1..1000000000"},
                    BadInput{{"--random", "5", "--hdim", "64"}, "--hdim: not allowed together with --random"},
                    BadInput{{"--random", "5", "--mask", "n"}, "--mask: not allowed together with --random"},
                    BadInput{{"--random", "5", "--sink"}, "--sink: not allowed together with --random"},
                    BadInput{{"--load", "/nonexistent"}, "--load: '/nonexistent' is not a folder"},
                    BadInput{{"--load"}, "--load: no value given; see --help"},
                    BadInput{{"--save", "x"},
                             "--save: holds the tensors of one mask; allowed with one --mask, not 3"}));

INSTANTIATE_TEST_SUITE_P(
    Shape, Refused,
    testing::Values(BadInput{{"--nope"}, "--nope: no such option; see --help"},
                    BadInput{{"--nope", "3"}, "--nope: no such option; see --help"},
                    BadInput{{"--seqlen", "3"}, "--seqlen: no such option; see --help"},
                    BadInput{{"-x"}, "-x: no such option; see --help"},
                    BadInput{{"junk"}, "junk: not an option; every value follows its option, see --help"},
                    BadInput{{"--mask", "top_left", "no_mask"},
                             "no_mask: not an option; every value follows its option, see --help"},
                    BadInput{{"--", "junk"},
                             "junk: not an option; every value follows its option, see --help"},
                    BadInput{{"--hdim"}, "--hdim: no value given; see --help"},
                    BadInput{{"--hdim", ""}, "--hdim: no value given; see --help"},
                    BadInput{{"--hdim", "--batch", "3"}, "--hdim: no value given; see --help"},
                    BadInput{{"--mask"}, "--mask: no value given; see --help"},
                    BadInput{{"--output", "--quiet"}, "--output: no value given; see --help"},
                    BadInput{{"--quiet=maybe"}, "--quiet: takes no value"},
                    BadInput{{"--quiet", "--verbose"}, "--quiet: not allowed together with --verbose"}));

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
  EXPECT_TRUE(o.verify);
  EXPECT_EQ(o.format, Format::table);
  EXPECT_EQ(o.output, std::nullopt);
  EXPECT_TRUE(o.problem.plain_scores());
  EXPECT_FALSE(o.problem.grouped());
  EXPECT_TRUE(o.problem.padded_q.empty());
  EXPECT_FALSE(o.problem.deterministic);
  EXPECT_EQ(o.fill.kind, FillKind::normal);
  EXPECT_FALSE(o.fill.d_o_is_one);
  EXPECT_EQ(o.check_determinism, std::nullopt);
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
  EXPECT_FALSE(o.verify);
  EXPECT_EQ(o.warmup, 0);
  EXPECT_EQ(o.repeat, 9);
  EXPECT_EQ(o.format, Format::csv);
  EXPECT_EQ(o.output, "x.csv");
  EXPECT_TRUE(o.quiet);
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
