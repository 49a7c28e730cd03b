// Every kernel family in the emulator, with workgroups, waves and lanes in a random order of a printed seed:
// the numbers are right in each. Under the preset tsan, ThreadSanitizer watches the kernels meanwhile.
//
// FMHA_BWD_EMULATOR_SEED=N repeats an order.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "kernels/platform/emulator/launch.h"
#include "tests/kernels/matrix_family_test.h"

namespace fmha_bwd {
namespace {

constexpr Fill kFill = {.seed = 7, .standard_deviation = 1.0F};

class Schedule : public FamilyTest {
 protected:
  Schedule() : FamilyTest("the family that is next") {}

  void SetUp() override {
    const std::optional<std::uint64_t> given = hip_emulator::settings().schedule_seed;
    seed_ = given ? *given : std::random_device()();
    std::cout << "FMHA_BWD_EMULATOR_SEED=" << seed_ << '\n';
    hip_emulator::set_settings({.threads = 0, .schedule_seed = seed_});
  }

  std::unique_ptr<Session> opened(const Problem& problem, const MaskSpec& /*mask*/) override {
    return backend_->open(problem, next_);
  }

  /// By the family of the architecture's matrix cores and by simt, and in fp32 by plain. Architectures that
  /// differ in matrix cores alone leave the other families to the first of each wave size.
  void expect_right_by_every_family(Problem problem, const MaskSpec& mask) {
    expect_right_by(matrix_family_of(GetParam().arch), problem, mask);
    if (GetParam().arch != "gfx942" && GetParam().arch != "sm_80") return;
    expect_right_by("simt", problem, mask);
    problem.dtype = DType::fp32;
    expect_right_by("plain", problem, mask);
  }

 private:
  void expect_right_by(const std::string& family, const Problem& problem, const MaskSpec& mask) {
    SCOPED_TRACE(family + ", FMHA_BWD_EMULATOR_SEED=" + std::to_string(seed_));
    next_ = family;
    expect_right_under(problem, {mask}, kFill, {problem.layout});
  }

  std::uint64_t seed_ = 0;
  std::string next_;
};

// Several tiles of queries and of keys.
TEST_P(Schedule, ChangesNothingInPlainProblems) {
  expect_right_by_every_family(problem_of({1, 2, 1, 130, 135, 64, 64}, DType::bf16), kBottomRight);
  expect_right_by_every_family(problem_of({1, 1, 1, 130, 135, 128, 128}, DType::bf16), kBottomRight);
  expect_right_by_every_family(problem_of({1, 1, 1, 70, 70, 136, 136}, DType::bf16), kBottomRight);
}

TEST_P(Schedule, ChangesNothingWithEverythingAtOnce) {
  Problem problem = problem_of({1, 2, 1, 1, 1, 40, 24}, DType::bf16);
  make_grouped(problem, {0, 70, 5}, {12, 90, 3});
  problem.bias = BiasShape::shared;
  problem.alibi = problem.sink = true;
  problem.softcap = 5.0F;
  problem.dropout = {0.25F, 5, 6};
  expect_right_by_every_family(problem, masks_from("bottom_right:40,5").front());
}

TEST_P(Schedule, ChangesNothingWhereDqIsSummedInAFixedOrder) {
  Problem problem = problem_of({1, 1, 1, 70, 135, 64, 64}, DType::bf16);
  problem.deterministic = true;
  expect_right_by_every_family(problem, kTopLeft);
}

std::vector<Device> emulated_devices() {
  std::vector<Device> all;
  for (const Platform& platform : platforms()) {
    for (const Device& device : platform.devices) {
      if (device.emulated) all.push_back(device);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Device, Schedule, testing::ValuesIn(emulated_devices()), test_name);

}  // namespace
}  // namespace fmha_bwd
