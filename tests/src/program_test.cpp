#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> small(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"--device",   "emulator", "--batch",    "1", "--nhead", "1",
                                        "--seqlen-q", "6",        "--seqlen-k", "5", "--hdim",  "8"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// A device that cannot open a problem.
class BrokenBackend final : public Backend {
 public:
  BrokenBackend(std::unique_ptr<Backend> backend, std::function<void()> fail)
      : backend_(std::move(backend)), fail_(std::move(fail)) {}

  const Device& device() const override { return backend_->device(); }
  std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
    return backend_->kernels(problem, mask);
  }
  std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
    fail_();
    return backend_->open(problem, kernel);
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::function<void()> fail_;
};

Decorate broken_by(std::function<void()> fail) {
  return [fail](std::unique_ptr<Backend> backend) {
    return std::make_unique<BrokenBackend>(std::move(backend), fail);
  };
}

TEST(Program, HelpAndVersionGoToStdoutAndPass) {
  const Outcome help = run_with({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Usage: fmha_bwd"));
  EXPECT_THAT(help.err, IsEmpty());
  const Outcome version = run_with({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("fmha_bwd "));
  EXPECT_THAT(version.out, HasSubstr("emulator"));
}

TEST(Program, KernelListShowsEveryFamilyOfTheDevice) {
  const Outcome outcome = run_with({"--device", "emulator", "--kernel", "list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("emulator:"));
  EXPECT_THAT(outcome.out, HasSubstr("simt"));
  EXPECT_THAT(outcome.out, HasSubstr("supported"));
}

TEST(Program, BadUsageIsOneLineOnStderrAndExitCodeTwo) {
  const Outcome outcome = run_with({"--hdim", "0"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "fmha_bwd: --hdim: 0 is not in 1..512\n");
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(Program, AMessageStaysOneLineWhateverTheUserTyped) {
  const Outcome outcome = run_with({"--dtype", "two\nlines\033[31m"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "fmha_bwd: --dtype: 'two\\x0alines\\x1b[31m' is not allowed; one of fp16, bf16, fp32\n");
}

TEST(Program, AnUnknownKernelIsBadUsage) {
  const Outcome outcome = run_with(small({"--kernel", "magic"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, StartsWith("fmha_bwd: --kernel: 'magic'"));
}

TEST(Program, ASoundRunPassesWithAllMasks) {
  const Outcome outcome = run_with(small());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("passed: 3 of 3 masks agree with the fp64 reference\n"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Program, JsonIsAllThatStandsOnStdout) {
  const Outcome outcome = run_with(small({"--mask", "bottom_right", "--format", "json"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["verdict"], "passed");
  EXPECT_EQ(report["masks"].size(), 1U);
  EXPECT_EQ(report["masks"][0]["empty_rows"], 1);
  EXPECT_EQ(report["masks"][0]["command"],
            "fmha_bwd --mask bottom_right --batch 1 --nhead 1 --seqlen-q 6 --seqlen-k 5 --hdim 8 "
            "--device emulator");
}

TEST(Program, CountsTheConflictsOfOnePassOfEachMask) {
  const auto stats_of = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--mask", "no_mask,top_left", "--arch", "sm_80", "--format", "json"});
    const Outcome outcome = run_with(small(std::move(more)));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    return std::vector<nlohmann::json>{report["masks"][0]["emulator_stats"],
                                       report["masks"][1]["emulator_stats"]};
  };
  EXPECT_TRUE(stats_of({}).front().is_null());
#if !defined(__SANITIZE_THREAD__)
  const auto once = stats_of({"--emulator-stats"});
  EXPECT_GT(once.front().size(), 0U);
  for (const auto& site : once.front()) {
    EXPECT_GT(site["accesses"], 0);
    EXPECT_GE(site["phases"], site["accesses"]);
    EXPECT_GE(site["conflicts"], 0);
  }
  EXPECT_EQ(stats_of({"--emulator-stats", "--repeat", "3", "--check-determinism", "2"}), once);
  EXPECT_TRUE(stats_of({}).back().is_null());  // no longer counted
#else
  EXPECT_EQ(run_with(small({"--emulator-stats"})).exit_code, 3);
#endif
}

TEST(Program, HasTheSameInputsAndVerdictInEitherLayout) {
  std::vector<std::string> checksums;
  for (const char* layout : {"bhsd", "bshd"}) {
    const Outcome outcome =
        run_with(small({"--nhead", "4", "--nhead-k", "2", "--layout", layout, "--format", "json"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report["problem"]["layout"], layout);
    checksums.push_back(report["inputs"]["checksum"]);
  }
  EXPECT_EQ(checksums.at(0), checksums.at(1));
}

TEST(Program, WithoutVerificationSaysThatNothingWasChecked) {
  const Outcome outcome = run_with(small({"--verify", "none", "--quiet"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("not verified: 3 masks ran unchecked\n"));
}

TEST(Program, RefusesAnUnwritableOutputBeforeItRuns) {
  bool opened = false;
  const Outcome outcome =
      run_with(small({"--output", "/nonexistent/report"}), broken_by([&opened] { opened = true; }));
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_EQ(outcome.err,
            "fmha_bwd: --output: cannot write '/nonexistent/report': No such file or directory\n");
  EXPECT_FALSE(opened);
}

TEST(Program, AFailingDeviceIsExitCodeSixAndLeavesNoOutput) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "fmha_bwd_program_test";
  std::filesystem::create_directories(folder);
  const Outcome outcome = run_with(
      small({"--output", (folder / "report").string()}),
      broken_by([] { throw Error(ExitCode::device_error, "out of memory: 5 bytes needed, 3 free"); }));
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_EQ(outcome.err, "fmha_bwd: out of memory: 5 bytes needed, 3 free\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST(Program, EveryOtherExceptionIsExitCodeSixToo) {
  EXPECT_EQ(run_with(small(), broken_by([] { throw std::bad_alloc(); })).exit_code, 6);
  const Outcome outcome = run_with(small(), broken_by([] { throw std::runtime_error("surprise"); }));
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_EQ(outcome.err, "fmha_bwd: surprise\n");
}

TEST(Program, RefusesInputsThatTheTypeCannotHold) {
  const Outcome outcome = run_with(small({"--std", "1e6", "--dtype", "fp16"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, StartsWith("fmha_bwd: --std: 1000000 makes "));
  EXPECT_THAT(outcome.err, HasSubstr("infinite in fp16"));
  EXPECT_EQ(run_with(small({"--std", "1e6", "--dtype", "bf16", "--verify", "none"})).exit_code, 0);
}

TEST(Program, SaysWhereAVerdictCannotTellZerosFromTheTensor) {
  const std::vector<std::string> tiny = small({"--std", "0.002", "--mask", "top_left"});
  EXPECT_THAT(run_with(tiny).out, HasSubstr("top_left dQ: inconclusive"));
  EXPECT_THAT(run_with(tiny).out, HasSubstr("% of the error budget; dQ, dK inconclusive"));
  EXPECT_THAT(run_with(small({"--mask", "top_left"})).out, Not(HasSubstr("inconclusive")));
  std::vector<std::string> as_json = tiny;
  as_json.insert(as_json.end(), {"--format", "json"});
  const auto report = nlohmann::json::parse(run_with(as_json).out);
  EXPECT_EQ(report["masks"][0]["verification"]["dQ"]["conclusive"], false);
  EXPECT_EQ(report["masks"][0]["verification"]["dV"]["conclusive"], true);
}

TEST(Program, ListsKernelsAsATableOnStdoutAlone) {
  EXPECT_EQ(run_with(small({"--kernel", "list"})).exit_code, 0);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--format", "json"}, {"--output", "kernels.txt"}}) {
    std::vector<std::string> arguments = small({"--kernel", "list"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_with(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("--kernel: 'list'"));
  }
}

TEST(Program, NamesTheKernelsWhereOneDoesNotExist) {
  const Outcome outcome = run_with(small({"--kernel", "nope"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "fmha_bwd: --kernel: 'nope' is not allowed; one of auto, list, cdna, rdna, mma, simt, plain\n");
}

}  // namespace
}  // namespace fmha_bwd
