// fmha_bwd --random, on the emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/src/faulty_backend.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;

std::vector<std::string> random_arguments(const std::string& count) {
  return {"--device", "emulator", "--random", count, "--seed", "1"};
}

Decorate with_fault(Fault fault) {
  return [fault](std::unique_ptr<Backend> backend) {
    return std::make_unique<FaultyBackend>(std::move(backend), fault);
  };
}

TEST(RandomRun, PassesOnRightKernels) {
  const Outcome outcome = run_with(random_arguments("60"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("passed: 60 of 60 random problems agree with the fp64 reference"));
  EXPECT_THAT(outcome.out, HasSubstr("simt 60"));
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
  const Outcome outcome = run_with(random_arguments("20"), [](std::unique_ptr<Backend> backend) {
    return std::make_unique<Refusing>(std::move(backend));
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("problems were refused by every kernel"));
}

}  // namespace
}  // namespace fmha_bwd
