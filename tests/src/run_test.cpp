// What a run does with its backend, and with folders of tensors.
#include "src/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/files/case_file.h"
#include "src/files/workspace.h"
#include "tests/src/faulty_backend.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::vector<std::string> kSmall = {"--device",   "emulator", "--batch",    "1", "--nhead", "2",
                                         "--seqlen-q", "6",        "--seqlen-k", "9", "--hdim",  "8"};

Outcome run_small(const std::vector<std::string>& more, const Decorate& decorate = {}) {
  std::vector<std::string> arguments = kSmall;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_with(arguments, decorate);
}

/// simt under two names: "quick", which takes no documents, and "thorough".
class TwoFamilies final : public Backend {
 public:
  TwoFamilies(std::unique_ptr<Backend> backend, std::vector<std::string>& opened)
      : backend_(std::move(backend)), opened_(opened) {}

  const Device& device() const override { return backend_->device(); }
  std::vector<KernelSupport> kernels(const Problem& /*problem*/, const MaskSpec& mask) const override {
    const bool documents = !mask.document_ends.empty();
    return {{"quick", documents ? std::optional<std::string>("no documents") : std::nullopt},
            {"thorough", std::nullopt}};
  }
  std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
    opened_.emplace_back(kernel);
    return backend_->open(problem, "simt");
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::vector<std::string>& opened_;
};

TEST(Run, OpensAnotherFamilyOnlyWhereTheMaskNeedsIt) {
  std::vector<std::string> opened;
  const Decorate decorate = [&opened](std::unique_ptr<Backend> backend) {
    return std::make_unique<TwoFamilies>(std::move(backend), opened);
  };
  const std::vector<std::string> masks = {"--mask", "no_mask,top_left,document:3,4", "--mask",
                                          "bottom_right"};
  std::vector<std::string> as_json = masks;
  as_json.insert(as_json.end(), {"--format", "json"});
  const Outcome outcome = run_small(as_json, decorate);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(opened, ElementsAre("quick", "thorough", "quick"));
  const Json report = Json::parse(outcome.out);
  std::vector<std::string> kernels;
  for (const Json& mask : report["masks"]) kernels.push_back(mask["kernel"]["name"]);
  EXPECT_THAT(kernels, ElementsAre("quick", "quick", "thorough", "quick"));

  const std::string table = run_small(masks, decorate).out;
  EXPECT_THAT(table, HasSubstr("kernel        quick for no_mask, top_left, bottom_right (the fastest"));
  EXPECT_THAT(table, HasSubstr("              thorough for document:3,4 (the fastest"));
  const std::string list = run_small({"--mask", "no_mask,document:3", "--kernel", "list"}, decorate).out;
  EXPECT_THAT(list, HasSubstr("quick     no_mask: supported"));
  EXPECT_THAT(list, HasSubstr("quick     document:3: no documents"));
  EXPECT_THAT(list, HasSubstr("thorough  supported"));
}

TEST(Run, FailsWhereBitsChangeThoughTheyMustNot) {
  const Outcome outcome = run_small({"--mask", "no_mask", "--deterministic", "--check-determinism", "3"},
                                    with_fault(Fault::changing_bit));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("dV differs between runs 1 and 2, in 1 element"));
  EXPECT_THAT(outcome.out, HasSubstr("no_mask was not timed: its runs differ"));
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: 1 of 1 mask with runs that differ\n"));
}

TEST(Run, SaysThatBitsChangeWhereTheyMay) {
  const Outcome outcome =
      run_small({"--mask", "no_mask", "--check-determinism", "3"}, with_fault(Fault::changing_bit));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("did not ask for the same bits (--deterministic)"));
  EXPECT_THAT(outcome.out, HasSubstr("runs differ, as is allowed"));
}

TEST(Run, OfADeterministicKernelFindsTheSameBits) {
  const Outcome outcome = run_small({"--deterministic", "--check-determinism", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("same bits"));
}

TEST(Run, OfNothingPassesWithZeros) {
  const Outcome outcome = run_with({"--device",
                                    "emulator",
                                    "--nhead",
                                    "2",
                                    "--hdim",
                                    "8",
                                    "--mode",
                                    "group",
                                    "--seqlen-q",
                                    "0",
                                    "--seqlen-k",
                                    "0",
                                    "--bias",
                                    "full",
                                    "--sink",
                                    "--alibi",
                                    "--dropout",
                                    "0.5",
                                    "--check-determinism",
                                    "2",
                                    "--format",
                                    "json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("nan")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("inf\"")));
  const Json mask = Json::parse(outcome.out)["masks"][0];
  EXPECT_EQ(mask["density"], 0.0);
  EXPECT_EQ(mask["gradients"]["dQ"]["mean_abs"], 0.0);
  EXPECT_EQ(mask["timing"]["tflops"], 0.0);
}

TEST(Run, OfKeysWithoutQueriesAndQueriesWithoutKeysPasses) {
  const Outcome outcome = run_with({"--device", "emulator", "--nhead", "2", "--hdim", "8", "--seqlen-q",
                                    "5,0,3", "--seqlen-k", "0,4,6", "--seqlen-q-pad", "7"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Masks  sequence 3 of 3, 3 x 6; a cell is a pair"));
}

class Folder : public testing::Test {
 protected:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("fmha_bwd_run_") + test->name());
    fs::remove_all(folder_);
  }
  ~Folder() override { fs::remove_all(folder_); }

  static Json json_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    return Json::parse(outcome.out);
  }

  fs::path folder_;
};

TEST_F(Folder, ThatWasSavedGivesTheSameRunAgain) {
  const Json before = json_of(
      run_small({"--mask", "top_left:3,1", "--dtype", "bf16", "--bias", "head", "--alibi", "--sink",
                 "--dropout", "0.25", "--seed", "7", "--save", folder_.string(), "--format", "json"}));
  for (const char* name : {"q", "k", "v", "do", "bias", "slopes", "sink", "o", "lse", "d", "dq", "dk", "dv",
                           "dbias", "dsink", "dropout_mask", "reference/dq", "reference/dsink"}) {
    EXPECT_TRUE(fs::exists(folder_ / (std::string(name) + ".npy"))) << name;
  }
  const Json after = json_of(run_with({"--load", folder_.string(), "--format", "json"}));
  EXPECT_EQ(after["problem"], before["problem"]);
  EXPECT_EQ(after["masks"][0]["mask"], "top_left:3,1");
  EXPECT_EQ(after["masks"][0]["gradients"], before["masks"][0]["gradients"]);
  EXPECT_EQ(after["inputs"]["loaded"].size(), 7U);
  EXPECT_EQ(after["inputs"]["checksum"], before["inputs"]["checksum"]);
}

#if !defined(__SANITIZE_THREAD__)
TEST_F(Folder, DoesNotAskForStatisticsThatAGpuHasNot) {
  const Json before = json_of(
      run_small({"--mask", "no_mask", "--emulator-stats", "--save", folder_.string(), "--format", "json"}));
  EXPECT_FALSE(before["masks"][0]["emulator_stats"].is_null());
  const Json after = json_of(run_with({"--load", folder_.string(), "--format", "json"}));
  EXPECT_TRUE(after["masks"][0]["emulator_stats"].is_null());
}
#endif

TEST_F(Folder, OfSomeInputsLeavesTheOthersDrawn) {
  const std::vector<std::string> once = {"--mask", "no_mask", "--seed", "7", "--format", "json"};
  std::vector<std::string> saving = once;
  saving.insert(saving.end(), {"--save", folder_.string()});
  const Json before = json_of(run_small(saving));
  fs::remove(folder_ / "case.txt");
  fs::remove(folder_ / "k.npy");
  std::vector<std::string> loading = once;
  loading.insert(loading.end(), {"--load", folder_.string()});
  const Json same = json_of(run_small(loading));
  EXPECT_EQ(same["inputs"]["checksum"], before["inputs"]["checksum"]);
  EXPECT_EQ(same["inputs"]["loaded"].dump(), R"(["Q","V","dO"])");
  loading.insert(loading.end(), {"--seed", "8"});
  EXPECT_NE(json_of(run_small(loading))["inputs"]["checksum"], before["inputs"]["checksum"]);
}

TEST_F(Folder, WithoutAnyInputIsRefused) {
  fs::create_directories(folder_);
  const Outcome outcome = run_small({"--load", folder_.string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("' has none of the problem's inputs"));
}

TEST_F(Folder, WithANumberThatIsNoneIsRefused) {
  save_tensor(folder_, TensorId::q, tensor_from(std::vector<float>(96, NAN), {1, 2, 6, 8}, DType::fp16),
              "--save");
  const Outcome outcome = run_small({"--load", folder_.string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "fmha_bwd: --load: '" + (folder_ / "q.npy").string() +
                             "' has 96 elements that are not finite; allowed are finite numbers\n");
}

TEST_F(Folder, IsSavedForTheFirstMaskThatFails) {
  const std::vector<std::string> options = {"--save-on-failure", folder_.string(), "--mask",
                                            "no_mask,top_left"};
  EXPECT_EQ(run_small(options).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_EQ(run_small(options, with_fault(Fault::zeroed_dk)).exit_code, 1);
  EXPECT_EQ(read_case(folder_, "--load").at(1), "no_mask");
  EXPECT_TRUE(fs::exists(folder_ / "reference" / "dk.npy"));
}

TEST_F(Folder, ThatCannotBeWrittenIsNamedBeforeTheRun) {
  std::ofstream(folder_) << "a file";
  const Outcome outcome = run_small({"--mask", "no_mask", "--save", (folder_ / "below").string()});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("--save: '"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Folder, ForAFailureThatCannotBeWrittenIsNamedBeforeTheRun) {
  std::ofstream(folder_) << "a file";
  const Outcome outcome = run_small({"--mask", "no_mask", "--save-on-failure", folder_.string()});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("--save-on-failure: '" + folder_.string() + "' cannot be written: "));
  EXPECT_EQ(outcome.out, "");
}

/// A kernel with a fault; by the time that it runs there is a file where the folder would be.
Decorate taking(const fs::path& folder, Fault fault) {
  class Taking final : public Backend {
   public:
    Taking(std::unique_ptr<Backend> backend, fs::path folder)
        : backend_(std::move(backend)), folder_(std::move(folder)) {}
    const Device& device() const override { return backend_->device(); }
    std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
      return backend_->kernels(problem, mask);
    }
    std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
      std::ofstream(folder_) << "a file";
      return backend_->open(problem, kernel);
    }

   private:
    std::unique_ptr<Backend> backend_;
    fs::path folder_;
  };
  return [=](std::unique_ptr<Backend> backend) {
    return std::make_unique<Taking>(std::make_unique<FaultyBackend>(std::move(backend), fault), folder);
  };
}

TEST_F(Folder, ThatCannotBeWrittenInTheEndLeavesTheVerdict) {
  const Outcome passed =
      run_small({"--mask", "no_mask", "--save", folder_.string()}, taking(folder_, Fault::none));
  EXPECT_EQ(passed.exit_code, 6);
  EXPECT_THAT(passed.out, HasSubstr("passed: 1 of 1 mask agrees"));
  EXPECT_THAT(passed.err, HasSubstr("fmha_bwd: --save: '"));
  fs::remove(folder_);
  const Outcome failed = run_small({"--mask", "no_mask", "--save-on-failure", folder_.string()},
                                   taking(folder_, Fault::zeroed_dk));
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.out, HasSubstr("FAILED: 1 of 1 mask with wrong numbers\n"));
  EXPECT_THAT(failed.err, HasSubstr("fmha_bwd: --save-on-failure: '"));
}

TEST_F(Folder, IsLeftWithTheFilesOfOneRunAndThoseOfOthers) {
  const std::string folder = folder_.string();
  run_small({"--mask", "no_mask", "--sink", "--dropout", "0.5", "--save", folder});
  std::ofstream(folder_ / "notes.txt") << "mine";
  run_small({"--mask", "no_mask", "--verify", "none", "--save", folder});
  for (const char* name : {"sink.npy", "dsink.npy", "dropout_mask.npy", "reference/dq.npy"}) {
    EXPECT_FALSE(fs::exists(folder_ / name)) << name;
  }
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
  EXPECT_TRUE(fs::exists(folder_ / "dq.npy"));
  EXPECT_EQ(run_with({"--load", folder}).exit_code, 0);
}

TEST(Run, OfResultsThatTheTypeCannotHoldIsRefusedWhereItIsVerified) {
  const std::vector<std::string> huge = {"--mask", "no_mask", "--std", "1000", "--scale", "1e-9"};
  const Outcome outcome = run_small(huge);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("--mask: no_mask has "));
  EXPECT_THAT(outcome.err, HasSubstr(" elements of dQ that are not finite when computed in fp16; allowed are "
                                     "--std, --fill, --scale and loaded inputs"));
  std::vector<std::string> unverified = huge;
  unverified.insert(unverified.end(), {"--verify", "none"});
  EXPECT_EQ(run_small(unverified).exit_code, 0);
  EXPECT_EQ(run_small({"--mask", "bottom_right", "--seqlen-q", "12"}).exit_code, 0);  // LSE -infinity
}

}  // namespace
}  // namespace fmha_bwd
