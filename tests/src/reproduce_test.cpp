// Commands that reproduce a result, and folders that say what the command line does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "src/files/case_file.h"
#include "src/files/workspace.h"
#include "tests/src/options_of.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;

namespace fs = std::filesystem;

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
  EXPECT_EQ(reproducing_command({}, kTopLeft), "fmha_bwd --mask top_left");
}

TEST(ReproducingCommand, LeavesOutWhatFollowsFromTheRestAndHowTheResultIsShown) {
  const Options o = options({"--nhead", "4", "--nhead-k", "4", "--hdim", "64", "--hdim-v", "64", "--scale",
                             "0.125", "--format", "json", "--output", "x", "--quiet"});
  EXPECT_EQ(reproducing_command(o, kNoMask), "fmha_bwd --mask no_mask --nhead 4 --hdim 64");
}

TEST(ReproducingCommand, SaysHowToVerifyUnlessTheRunChooses) {
  const auto command = [](const std::vector<std::string>& words) {
    return reproducing_command(options(words), kNoMask);
  };
  EXPECT_EQ(command({}), "fmha_bwd --mask no_mask");
  EXPECT_EQ(command({"--verify", "full"}), "fmha_bwd --mask no_mask --verify full");
  EXPECT_EQ(command({"--verify", "sample"}), "fmha_bwd --mask no_mask --verify sample");
  EXPECT_EQ(command({"--reference", "device"}), "fmha_bwd --mask no_mask --reference device");
  // A run that chose a sample tells its rows.
  Options chosen = options({});
  chosen.verify = VerifyHow::sample;
  chosen.sample_rows = 4096;
  EXPECT_EQ(reproducing_command(chosen, kNoMask), "fmha_bwd --mask no_mask --verify sample:4096");
}

/// What --mask, --format and the like do not decide.
void expect_equal(const Options& a, const Options& b) {
  const auto problem = [](const Problem& p) {
    return std::tuple(p.batch, p.nhead_q, p.nhead_k, p.seqlen_q, p.seqlen_k, p.hdim_q, p.hdim_v, p.dtype,
                      p.scale, p.layout, p.seqlens_q, p.seqlens_k, p.padded_q, p.padded_k, p.softcap, p.bias,
                      p.alibi, p.sink, p.dropout.probability, p.dropout.seed, p.dropout.offset,
                      p.deterministic);
  };
  EXPECT_EQ(problem(a.problem), problem(b.problem));
  EXPECT_EQ(a.fill.seed, b.fill.seed);
  EXPECT_EQ(a.fill.standard_deviation, b.fill.standard_deviation);
  EXPECT_EQ(a.fill.kind, b.fill.kind);
  EXPECT_EQ(a.fill.d_o_is_one, b.fill.d_o_is_one);
  EXPECT_EQ(a.load, b.load);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.arch, b.arch);
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.verify, b.verify);
  EXPECT_EQ(a.sample_rows, b.sample_rows);
  EXPECT_EQ(a.reference, b.reference);
  EXPECT_EQ(a.check_determinism, b.check_determinism);
  EXPECT_EQ(a.emulator_stats, b.emulator_stats);
  EXPECT_EQ(a.warmup, b.warmup);
  EXPECT_EQ(a.repeat, b.repeat);
}

TEST(ReproducingCommand, ComesBackThroughShellAndParserUnchanged) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"--batch", "1", "--nhead", "6", "--nhead-k", "3", "--seqlen-q", "100", "--seqlen-k", "7"},
      {"--nhead-k", "2", "--hdim", "80", "--hdim-v", "96", "--dtype", "fp32", "--scale", "-0.33333334"},
      {"--scale", "0"},
      {"--layout", "bshd"},
      {"--layout", "qkv", "--seqlen-q-pad", "65", "--seqlen-k-pad", "65"},
      {"--seqlen-q", "5,0,7", "--seqlen-k", "6,6,6", "--seqlen-q-pad", "8,0,7", "--seqlen-k-pad", "9"},
      {"--mode", "group", "--batch", "1", "--seqlen-q", "0"},
      {"--mode", "group", "--batch", "2"},
      {"--softcap", "0.1", "--bias", "full", "--alibi", "--sink"},
      {"--dropout", "0.1", "--dropout-seed", "18446744073709551615", "--dropout-offset", "123456789012345"},
      {"--deterministic", "--check-determinism", "3"},
      {"--device", "emulator", "--emulator-stats"},
      {"--fill", "integers", "--fill-do", "ones"},
      {"--seed", "18446744073709551615", "--std", "0.30000001"},
      {"--device", "nvidia:1", "--arch", "it's \"odd\" $HOME *", "--kernel", "a;b"},
      {"--verify", "none", "--warmup", "0", "--repeat", "7"},
      {"--verify", "full"},
      {"--verify", "sample", "--reference", "device"},
      {"--verify", "sample:1234", "--reference", "cpu"}};
  for (const std::vector<std::string>& arguments : cases) {
    for (const char* name : {"bottom_right", "top_left:3,-1", "document_causal:3,4", "generic:-3,5"}) {
      const MaskSpec mask = masks_from(name).front();
      const Options before = options(arguments);
      const std::string command = reproducing_command(before, mask);
      std::vector<std::string> words = shell_words(command);
      ASSERT_EQ(words.at(0), "fmha_bwd");
      words.erase(words.begin());
      if (before.problem.grouped() && !mask.document_ends.empty() && before.problem.seqlen_k < 7) continue;
      const Options again = options(words);
      EXPECT_THAT(again.masks, ElementsAre(mask)) << command;
      EXPECT_EQ(reproducing_command(again, mask), command);
      expect_equal(again, before);
    }
  }
}

/// A folder for --load.
class Load : public testing::Test {
 protected:
  Load() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("fmha_bwd_load_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Load() override { fs::remove_all(folder_); }

  void write_tensor(TensorId id, const Shape& shape, DType dtype) const {
    const std::vector<float> values(static_cast<std::size_t>(shape.elements()), 0.5F);
    save_tensor(folder_, id, tensor_from(values, shape, dtype), "--save");
  }
  Options loaded(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--load", folder_.string()});
    return options(arguments);
  }
  std::string refusal(const std::vector<std::string>& arguments) const {
    try {
      loaded(arguments);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_usage);
      return error.what();
    }
    return "nothing was thrown";
  }

  fs::path folder_;
};

TEST_F(Load, TakesShapeAndTypeFromTheTensorsWhereNoOptionSaysThem) {
  write_tensor(TensorId::q, {3, 4, 5, 16}, DType::bf16);
  write_tensor(TensorId::k, {3, 2, 7, 16}, DType::bf16);
  write_tensor(TensorId::v, {3, 2, 7, 8}, DType::bf16);
  write_tensor(TensorId::bias, {1, 4, 5, 7}, DType::bf16);
  write_tensor(TensorId::slopes, {1, 4, 1, 1}, DType::fp32);
  write_tensor(TensorId::sink, {1, 4, 1, 1}, DType::fp32);
  const Problem p = loaded({}).problem;
  EXPECT_EQ(std::tuple(p.batch, p.nhead_q, p.nhead_k, p.seqlen_q, p.seqlen_k, p.hdim_q, p.hdim_v),
            std::tuple(3, 4, 2, 5, 7, 16, 8));
  EXPECT_EQ(p.dtype, DType::bf16);
  EXPECT_EQ(p.scale, 0.25F);
  EXPECT_EQ(p.bias, BiasShape::head);
  EXPECT_TRUE(p.alibi);
  EXPECT_TRUE(p.sink);
  EXPECT_EQ(loaded({"--dtype", "fp16", "--bias", "none"}).problem.dtype, DType::fp16);
  EXPECT_EQ(loaded({"--bias", "none"}).problem.bias, BiasShape::none);
  const Problem grouped = loaded({"--seqlen-q", "2,3", "--seqlen-k", "7,0"}).problem;
  EXPECT_THAT(grouped.seqlens_q, ElementsAre(2, 3));
  EXPECT_EQ(grouped.nhead_k, 2);
}

TEST_F(Load, ReadsTheCaseFileBeforeTheCommandLine) {
  write_case(folder_, {"--mask", "top_left,no_mask", "--hdim", "16", "--seqlen-q", "9", "--sink"}, "--save");
  const Options o = loaded({"--mask", "bottom_right", "--seqlen-q", "3"});
  EXPECT_THAT(o.masks, ElementsAre(kBottomRight));
  EXPECT_EQ(o.problem.seqlen_q, 3);
  EXPECT_EQ(o.problem.hdim_q, 16);
  EXPECT_TRUE(o.problem.sink);
  EXPECT_THAT(loaded({}).masks, ElementsAre(kTopLeft, kNoMask));
}

TEST_F(Load, CommandsThatReproduceSayWhatTheFolderCouldSayOtherwise) {
  write_case(folder_,
             {"--softcap", "3", "--hdim", "16", "--dtype", "bf16", "--dropout", "0.5", "--seed", "1"},
             "--save");
  const Options o = loaded({"--softcap", "0", "--hdim", "128", "--dtype", "fp16", "--seed", "42"});
  const std::vector<std::string> words = reproducing_arguments(o, kNoMask);
  const Options again = options(words);
  expect_equal(again, o);
  EXPECT_EQ(again.problem.softcap, 0.0F);
  EXPECT_EQ(again.problem.dropout.probability, 0.5F);
}

TEST_F(Load, MayTurnOffAVerificationThatHadAReference) {
  write_case(folder_, {"--hdim", "16", "--verify", "sample:9", "--reference", "device"}, "--save");
  const Options sampled = loaded({});
  EXPECT_EQ(sampled.sample_rows, 9);
  EXPECT_EQ(sampled.reference, ReferenceOn::device);
  expect_equal(options(reproducing_arguments(sampled, kNoMask)), sampled);
  expect_equal(options(reproducing_arguments(loaded({"--reference", "cpu"}), kNoMask)),
               loaded({"--reference", "cpu"}));
  const Options none = loaded({"--verify", "none"});
  expect_equal(options(reproducing_arguments(none, kNoMask)), none);
}

TEST_F(Load, RefusesACaseFileThatIsNotOne) {
  const auto write = [&](const std::vector<std::string>& words) { write_case(folder_, words, "--save"); };
  const std::string where = "--load: '" + (folder_ / "case.txt").string() + "': ";
  write({"--save", "x"});
  EXPECT_EQ(refusal({}), where + "--save is not allowed in a case file");
  write({"--load", "x"});
  EXPECT_EQ(refusal({}), where + "--load is not allowed in a case file");
  write({"--nope", "x"});
  EXPECT_EQ(refusal({}), where + "'--nope' is neither an option nor an option's value; see --help");
  write({"--hdim", "0"});
  EXPECT_EQ(refusal({}), where + "--hdim: 0 is not in 1..512");
  EXPECT_EQ(refusal({"--hdim", "513"}), "--hdim: 513 is not in 1..512");
  EXPECT_EQ(loaded({"--hdim", "8"}).problem.hdim_q, 8);
  write({"--hdim", "abc"});
  EXPECT_EQ(refusal({}), where + "--hdim: 'abc' is not a whole number");
  write({"--hdim"});
  EXPECT_EQ(refusal({}), where + "--hdim: no value given; see --help");
}

TEST_F(Load, RefusesAFileThatTheCaseDoesNotUseUnlessAnOptionDecides) {
  struct Feature {
    TensorId id;
    const char* complaint;
    std::vector<std::vector<std::string>> deciding;
  };
  const std::vector<Feature> features = {
      {TensorId::sink,
       "sink.npy' is there, but the problem has no sinks; allowed with --sink or --no-sink",
       {{"--sink"}, {"--no-sink"}}},
      {TensorId::slopes,
       "slopes.npy' is there, but the problem has no ALiBi; allowed with --alibi or --no-alibi",
       {{"--alibi"}, {"--no-alibi"}}},
      {TensorId::bias,
       "bias.npy' is there, but the problem has no bias; allowed with --bias SHAPE or --bias none",
       {{"--bias", "shared"}, {"--bias", "none"}}}};
  for (const Feature& feature : features) {
    write_case(folder_, {"--hdim", "16"}, "--save");
    write_tensor(feature.id, {1, 1, 1, 1}, DType::fp32);
    EXPECT_EQ(refusal({}), "--load: '" + (folder_ / "").string() + feature.complaint);
    for (const std::vector<std::string>& words : feature.deciding) {
      EXPECT_EQ(refusal(words), "nothing was thrown");
      write_case(folder_, words, "--save");
      EXPECT_EQ(refusal({}), "nothing was thrown");
      write_case(folder_, {"--hdim", "16"}, "--save");
    }
    fs::remove(tensor_file(folder_, feature.id));
  }
}

TEST_F(Load, TurnsOffWhatTheFolderTurnsOn) {
  write_case(folder_, {"--alibi", "--sink", "--deterministic"}, "--save");
  const Options o = loaded({"--no-alibi", "--no-sink", "--no-deterministic"});
  EXPECT_FALSE(o.problem.alibi);
  EXPECT_FALSE(o.problem.sink);
  EXPECT_FALSE(o.problem.deterministic);
  expect_equal(options(reproducing_arguments(o, kNoMask)), o);
  fs::remove(folder_ / "case.txt");
  write_tensor(TensorId::sink, {1, 8, 1, 1}, DType::fp32);
  EXPECT_TRUE(loaded({}).problem.sink);
  EXPECT_FALSE(loaded({"--no-sink"}).problem.sink);
}

TEST_F(Load, RefusesAFillWhereNothingIsDrawn) {
  write_tensor(TensorId::q, {1, 2, 3, 8}, DType::fp16);
  write_tensor(TensorId::k, {1, 2, 3, 8}, DType::fp16);
  write_tensor(TensorId::v, {1, 2, 3, 8}, DType::fp16);
  const std::vector<std::vector<std::string>> fills = {
      {"--seed", "1"}, {"--fill", "zeros"}, {"--fill-do", "ones"}, {"--std", "1"}};
  for (const auto& words : fills) EXPECT_EQ(refusal(words), "nothing was thrown");
  write_tensor(TensorId::d_o, {1, 2, 3, 8}, DType::fp16);
  for (const auto& words : fills) {
    EXPECT_EQ(refusal(words), words.front() + ": no effect, since '" + folder_.string() +
                                  "' has every input; allowed where one is drawn");
    std::vector<std::string> with_sink = words;
    with_sink.emplace_back("--sink");
    EXPECT_EQ(refusal(with_sink), "nothing was thrown");
  }
  const Options o = loaded({});
  expect_equal(options(reproducing_arguments(o, kNoMask)), o);
  write_case(folder_, {"--nhead", "2", "--seed", "7"}, "--save");
  EXPECT_EQ(refusal({}), "nothing was thrown");
}

TEST_F(Load, NeedsTheLengthsOfGroupMode) {
  write_tensor(TensorId::q, {1, 2, 8, 8}, DType::fp16);
  write_tensor(TensorId::k, {1, 2, 8, 8}, DType::fp16);
  write_tensor(TensorId::v, {1, 2, 8, 8}, DType::fp16);
  const std::string complaint = "--load: '" + folder_.string() +
                                "' does not say how long each sequence of group mode is; allowed with "
                                "--seqlen-q and --seqlen-k";
  EXPECT_EQ(refusal({"--mode", "group"}), complaint);
  EXPECT_EQ(refusal({"--seqlen-q", "3,5"}), complaint);
  EXPECT_EQ(refusal({"--seqlen-q", "3,5", "--seqlen-k", "4"}), "nothing was thrown");
}

TEST_F(Load, TakesFilesOfFp32BesideNarrowerOnes) {
  write_tensor(TensorId::q, {1, 2, 8, 8}, DType::fp32);
  write_tensor(TensorId::k, {1, 2, 8, 8}, DType::bf16);
  write_tensor(TensorId::v, {1, 2, 8, 8}, DType::fp32);
  EXPECT_EQ(loaded({"--dtype", "bf16"}).problem.dtype, DType::bf16);
  write_tensor(TensorId::q, {1, 2, 8, 8}, DType::bf16);
  EXPECT_EQ(loaded({}).problem.dtype, DType::bf16);
}

}  // namespace
}  // namespace fmha_bwd
