// fmha_bwd --random, on the emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <new>

#include "base/error.h"
#include "tests/src/faulty_backend.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> random_arguments(const std::string& count) {
  return {"--device", "emulator", "--random", count, "--seed", "1"};
}

TEST(RandomRun, PassesOnRightKernels) {
  const Outcome outcome = run_with(random_arguments("60"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("passed: 60 of 60 random problems agree with the fp64 reference"));
  EXPECT_THAT(outcome.out, HasSubstr("kernels   cdna 40, simt 20\n"));
}

class RandomRunMutation : public testing::TestWithParam<Fault> {};

TEST_P(RandomRunMutation, IsFoundAndShrunkToOneCommand) {
  const Outcome outcome = run_with(random_arguments("60"), with_fault(GetParam()));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: random problem"));
  EXPECT_THAT(outcome.out, HasSubstr("a smaller problem that fails:\n  fmha_bwd --mask"));
  EXPECT_THAT(outcome.out, HasSubstr("--device emulator"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("--repeat")));
}

INSTANTIATE_TEST_SUITE_P(Faults, RandomRunMutation,
                         testing::Values(Fault::zeroed_dk, Fault::zeroed_dq, Fault::shifted_mask,
                                         Fault::dropped_scale, Fault::dropped_softcap, Fault::other_dropout,
                                         Fault::nan_element, Fault::unwritten_row, Fault::damaged_guard));

TEST(RandomRun, SavesTheSmallerProblemThatFails) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "random_run_test";
  std::filesystem::remove_all(folder);
  std::vector<std::string> arguments = random_arguments("60");
  arguments.insert(arguments.end(), {"--save-on-failure", folder.string()});
  EXPECT_EQ(run_with(arguments, with_fault(Fault::zeroed_dk)).exit_code, 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "dk.npy"));
  EXPECT_EQ(run_with({"--load", folder.string(), "--device", "emulator"}).exit_code, 0);
  EXPECT_EQ(
      run_with({"--load", folder.string(), "--device", "emulator"}, with_fault(Fault::zeroed_dk)).exit_code,
      1);
  std::filesystem::remove_all(folder);
}

TEST(RandomRun, RefusesOptionsThatItWouldNotHeed) {
  for (const char* option : {"--hdim=8", "--warmup=3", "--repeat=3", "--format=json", "--mask=n"}) {
    const Outcome outcome = run_with({"--random", "3", option});
    EXPECT_EQ(outcome.exit_code, 2) << option;
    EXPECT_THAT(outcome.err, HasSubstr("not allowed together with --random"));
  }
}

TEST(RandomRun, CountsWhatAKernelRefuses) {
  class Refusing final : public Backend {
   public:
    explicit Refusing(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
    const Device& device() const override { return backend_->device(); }
    std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec&) const override {
      return {{"simt", problem.plain_scores() ? std::nullopt : std::optional<std::string>("not plain")}};
    }
    std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
      return backend_->open(problem, kernel);
    }

   private:
    std::unique_ptr<Backend> backend_;
  };
  std::vector<std::string> arguments = random_arguments("20");
  arguments.emplace_back("--quiet");
  const Outcome outcome = run_with(arguments, [](std::unique_ptr<Backend> backend) {
    return std::make_unique<Refusing>(std::move(backend));
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("problems were refused by every kernel"));
  EXPECT_THAT(outcome.out, HasSubstr(" of 20 random problems agree"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("20 of 20")));
}

/// A device of either kind that does something else at each opening, counted from 0.
class OpeningBackend final : public Backend {
 public:
  using Open = std::function<std::unique_ptr<Session>(int, std::unique_ptr<Session>)>;
  OpeningBackend(std::unique_ptr<Backend> backend, bool emulated, Open open)
      : backend_(std::move(backend)), device_(backend_->device()), open_(std::move(open)) {
    device_.emulated = emulated;
  }
  const Device& device() const override { return device_; }
  std::vector<KernelSupport> kernels(const Problem& problem, const MaskSpec& mask) const override {
    return backend_->kernels(problem, mask);
  }
  std::unique_ptr<Session> open(const Problem& problem, std::string_view kernel) override {
    return open_(opened_++, backend_->open(problem, kernel));
  }

 private:
  std::unique_ptr<Backend> backend_;
  Device device_;
  Open open_;
  int opened_ = 0;
};

Outcome random_with(bool emulated, const OpeningBackend::Open& open) {
  return run_with(random_arguments("5"), [&](std::unique_ptr<Backend> backend) {
    return std::make_unique<OpeningBackend>(std::move(backend), emulated, open);
  });
}

std::unique_ptr<Session> lost(int opened, std::unique_ptr<Session> session) {
  if (opened >= 2) throw Error(ExitCode::device_error, "the device is lost");
  return session;
}

TEST(RandomRun, EndsWhereADeviceGivesOut) {
  const Outcome outcome = random_with(false, lost);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err,
              StartsWith("fmha_bwd: random problem 2 of seed 1: the device is lost; fmha_bwd --mask "));
}

TEST(RandomRun, ShrinksWhatTheEmulatorFindsWrongInAKernel) {
  const Outcome outcome = random_with(true, lost);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: random problem 2 of seed 1, after 2 that passed\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  the device is lost\na smaller problem that fails:\n"));
}

TEST(RandomRun, NamesTheProblemThatDoesNotFitInMemory) {
  const Outcome outcome = random_with(
      true, [](int, std::unique_ptr<Session>) -> std::unique_ptr<Session> { throw std::bad_alloc(); });
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, StartsWith("fmha_bwd: random problem 0 of seed 1: out of host memory; fmha_bwd "));
}

TEST(RandomRun, SaysWhereAFailureDoesNotComeBack) {
  const Outcome outcome = random_with(true, [](int opened, std::unique_ptr<Session> session) {
    const Fault fault = opened == 0 ? Fault::zeroed_dk : Fault::none;
    return std::make_unique<FaultySession>(std::move(session), fault);
  });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("FAILED: random problem 0 of seed 1, after 0 that passed\n  fmha_bwd --mask"));
  EXPECT_THAT(outcome.out,
              HasSubstr("it does not fail every time; this one failed, and then passed:\n  fmha_bwd"));
}

TEST(RandomRun, ReportsAFailureThoughTheDeviceGivesOutAfterwards) {
  const Outcome outcome = random_with(false, [](int opened, std::unique_ptr<Session> session) {
    if (opened > 3) throw Error(ExitCode::device_error, "the device is lost");
    return std::make_unique<FaultySession>(std::move(session), Fault::zeroed_dk);
  });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: random problem 0 of seed 1"));
  EXPECT_THAT(outcome.out, HasSubstr("a smaller problem that failed:\n"));
  EXPECT_EQ(outcome.err, "fmha_bwd: the device is lost\n");
}

TEST(RandomRun, CountsTheProblemsThatRepeatTheirBitsThoughTheyNeedNot) {
  std::vector<std::string> arguments = random_arguments("20");
  arguments.insert(arguments.end(), {"--check-determinism", "2"});
  EXPECT_THAT(run_with(arguments).out, HasSubstr(" problems repeated their bits, "));
}

TEST(RandomRun, TriesTheFolderForAFailureFirst) {
  std::vector<std::string> arguments = random_arguments("20");
  arguments.insert(arguments.end(), {"--save-on-failure", "/proc/none"});
  const Outcome outcome = run_with(arguments);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, StartsWith("fmha_bwd: --save-on-failure: '/proc/none' cannot be written: "));
}

}  // namespace
}  // namespace fmha_bwd
