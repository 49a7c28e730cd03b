#include "src/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CommandLine parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fmha_bwd");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

Options options(const std::vector<std::string>& arguments) { return parse(arguments).options; }

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
        BadInput{{"--mask", "nope"}, "--mask: 'nope' is not allowed; one of no_mask, top_left, bottom_right"},
        BadInput{{"--mask", "no_mask,"}, "--mask: '' is not allowed; one of no_mask, top_left, bottom_right"},
        BadInput{{"--mask", "top_left,NO_MASK"},
                 "--mask: 'NO_MASK' is not allowed; one of no_mask, top_left, bottom_right"},
        BadInput{{"--dtype", "fp7"}, "--dtype: 'fp7' is not allowed; one of fp16, bf16, fp32"},
        BadInput{{"--layout", "sbhd"}, "--layout: 'sbhd' is not allowed; one of bhsd, bshd"},
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
                    BadInput{{"--hdim", "0"}, "--hdim: 0 is not in 1..256"},
                    BadInput{{"--hdim", "257"}, "--hdim: 257 is not in 1..256"},
                    BadInput{{"--hdim-v", "300"}, "--hdim-v: 300 is not in 1..256"},
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
  EXPECT_THAT(o.masks, ElementsAre(MaskKind::no_mask, MaskKind::top_left, MaskKind::bottom_right));
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

TEST(Options, DefaultsFollowTheValuesTheyAreMadeFrom) {
  const Options o = options({"--nhead", "4", "--hdim=64"});
  EXPECT_EQ(o.problem.nhead_k, 4);
  EXPECT_EQ(o.problem.hdim_v, 64);
  EXPECT_EQ(o.problem.scale, 0.125F);
}

TEST(Options, MasksComeAsAListOrRepeatedAndEachOnce) {
  EXPECT_THAT(options({"--mask", "top_left"}).masks, ElementsAre(MaskKind::top_left));
  EXPECT_THAT(options({"--mask", "bottom_right,no_mask,bottom_right"}).masks,
              ElementsAre(MaskKind::bottom_right, MaskKind::no_mask));
  EXPECT_THAT(options({"--mask", "top_left", "--hdim", "8", "--mask=no_mask,top_left"}).masks,
              ElementsAre(MaskKind::top_left, MaskKind::no_mask));
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
  for (const char* option : {"--mask",    "--batch",     "--nhead N",
                             "--nhead-k", "--seqlen-q",  "--seqlen-k",
                             "--hdim N",  "--hdim-v",    "--dtype",
                             "--scale",   "--seed",      "--std",
                             "--device",  "--arch",      "--kernel",
                             "--verify",  "--warmup",    "--repeat",
                             "--format",  "--output",    "--quiet",
                             "--verbose", "--layout",    "--help",
                             "--version", "Exit codes:", "6  device or runtime error"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
  std::size_t begin = 0;
  for (std::size_t end = help.find('\n'); end != std::string::npos; end = help.find('\n', begin)) {
    EXPECT_LE(end - begin, 100U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

/// The words that a POSIX shell makes of a command line.
std::vector<std::string> shell_words(const std::string& command) {
  const std::string script = "set -- " + command + "; for word; do printf '%s\\n' \"$word\"; done";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(script.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) text += buffer.data();
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

TEST(ReproducingCommand, HoldsOnlyTheMaskForTheDefaultProblem) {
  EXPECT_EQ(reproducing_command({}, MaskKind::top_left), "fmha_bwd --mask top_left");
}

TEST(ReproducingCommand, LeavesOutWhatFollowsFromTheRestAndHowTheResultIsShown) {
  const Options o = options({"--nhead", "4", "--nhead-k", "4", "--hdim", "64", "--hdim-v", "64", "--scale",
                             "0.125", "--format", "json", "--output", "x", "--quiet"});
  EXPECT_EQ(reproducing_command(o, MaskKind::no_mask), "fmha_bwd --mask no_mask --nhead 4 --hdim 64");
}

TEST(ReproducingCommand, ComesBackThroughShellAndParserUnchanged) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"--batch", "1", "--nhead", "6", "--nhead-k", "3", "--seqlen-q", "100", "--seqlen-k", "7"},
      {"--nhead-k", "2", "--hdim", "80", "--hdim-v", "96", "--dtype", "fp32", "--scale", "-0.33333334"},
      {"--layout", "bshd"},
      {"--seed", "18446744073709551615", "--std", "0.30000001"},
      {"--device", "nvidia:1", "--arch", "it's \"odd\" $HOME *", "--kernel", "a;b"},
      {"--verify", "none", "--warmup", "0", "--repeat", "7"}};
  for (const std::vector<std::string>& arguments : cases) {
    const std::string command = reproducing_command(options(arguments), MaskKind::bottom_right);
    std::vector<std::string> words = shell_words(command);
    ASSERT_EQ(words.at(0), "fmha_bwd");
    words.erase(words.begin());
    const Options again = options(words);
    EXPECT_THAT(again.masks, ElementsAre(MaskKind::bottom_right));
    EXPECT_EQ(reproducing_command(again, MaskKind::bottom_right), command);
    const Options before = options(arguments);
    EXPECT_EQ(again.problem.scale, before.problem.scale);
    EXPECT_EQ(again.problem.nhead_k, before.problem.nhead_k);
    EXPECT_EQ(again.problem.hdim_v, before.problem.hdim_v);
    EXPECT_EQ(again.problem.dtype, before.problem.dtype);
    EXPECT_EQ(again.problem.layout, before.problem.layout);
    EXPECT_EQ(again.fill.seed, before.fill.seed);
    EXPECT_EQ(again.fill.standard_deviation, before.fill.standard_deviation);
    EXPECT_EQ(again.device, before.device);
    EXPECT_EQ(again.arch, before.arch);
    EXPECT_EQ(again.kernel, before.kernel);
    EXPECT_EQ(again.verify, before.verify);
    EXPECT_EQ(again.warmup, before.warmup);
    EXPECT_EQ(again.repeat, before.repeat);
  }
}

}  // namespace
}  // namespace fmha_bwd
