// What the command line refuses, and in which words.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "src/options.h"
#include "tests/src/options_of.h"

namespace fmha_bwd {
namespace {

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
        BadInput{{"--verify", "maybe"}, "--verify: 'maybe' is not allowed; one of full, sample[:ROWS], none"},
        BadInput{{"--verify", "sampled"},
                 "--verify: 'sampled' is not allowed; one of full, sample[:ROWS], none"},
        BadInput{{"--verify", "full:3"},
                 "--verify: 'full:3' is not allowed; one of full, sample[:ROWS], none"},
        BadInput{{"--verify", "sample:"}, "--verify: 'sample:' has no number of rows after its colon"},
        BadInput{{"--verify", "sample:x"}, "--verify: 'x' is not a whole number"},
        BadInput{{"--verify", "sample:0"}, "--verify: 0 is not in 1..1000000000"},
        BadInput{{"--verify", ""}, "--verify: no value given; see --help"},
        BadInput{{"--reference", "gpu"}, "--reference: 'gpu' is not allowed; one of cpu, device"},
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
        BadInput{{"--seqlen-q", "0"}, "--seqlen-q: 0 is not in 1..536870911; it is allowed in --mode group"},
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
                    BadInput{{"--dropout", "1"}, "--dropout: 1 is not in [0, 1) as an fp32 number"},
                    BadInput{{"--dropout", "-0.1"}, "--dropout: -0.1 is not in [0, 1) as an fp32 number"},
                    BadInput{{"--dropout", "0.99999999999"},
                             "--dropout: 0.99999999999 is not in [0, 1) as an fp32 number"},
                    BadInput{{"--dropout-seed", "-1"},
                             "--dropout-seed: -1 is not in 0..18446744073709551615"},
                    BadInput{{"--dropout-offset", "x"}, "--dropout-offset: 'x' is not a whole number"},
                    BadInput{{"--alibi=1"}, "--alibi: takes no value"},
                    BadInput{{"--std", "1", "--fill", "zeros"},
                             "--std: 1 has no meaning with --fill zeros; allowed is --fill normal"}));

INSTANTIATE_TEST_SUITE_P(
    Runs, Refused,
    testing::Values(BadInput{{"--check-determinism", "1"}, "--check-determinism: 1 is not in 2..1000000"},
                    BadInput{{"--emulator-stats=1"}, "--emulator-stats: takes no value"},
                    BadInput{{"--random", "5", "--emulator-stats"},
                             "--emulator-stats: not allowed together with --random"},
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

}  // namespace
}  // namespace fmha_bwd
