// Faults in the kernels end with exit code 1, whatever the type and the spread of the inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/src/faulty_backend.h"
#include "tests/src/outcome.h"

namespace fmha_bwd {
namespace {

Outcome run_faulty(Fault fault, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--device", "emulator"});
  return run_with(arguments, with_fault(fault));
}

struct Case {
  Fault fault;
  const char* name;
};

class KernelFault : public testing::TestWithParam<Case> {};

const std::vector<std::string> kSmall = {"--batch",    "1",  "--nhead",    "2",  "--nhead-k", "1",
                                         "--seqlen-q", "70", "--seqlen-k", "90", "--hdim",    "32"};

TEST_P(KernelFault, EndsWithExitCodeOne) {
  for (const char* dtype : {"fp16", "bf16", "fp32"}) {
    for (const char* standard_deviation : {"0.1", "1"}) {
      std::vector<std::string> arguments = kSmall;
      arguments.insert(arguments.end(),
                       {"--dtype", dtype, "--std", standard_deviation, "--mask", "bottom_right"});
      const Outcome outcome = run_faulty(GetParam().fault, arguments);
      EXPECT_EQ(outcome.exit_code, 1) << dtype << " std " << standard_deviation << "\n"
                                      << outcome.out << outcome.err;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, KernelFault,
    testing::Values(Case{Fault::zeroed_dk, "ZeroedDk"}, Case{Fault::zeroed_dq, "ZeroedDq"},
                    Case{Fault::shifted_mask, "ShiftedMask"}, Case{Fault::dropped_scale, "DroppedScale"},
                    Case{Fault::nan_element, "NanElement"}, Case{Fault::unwritten_row, "UnwrittenRow"},
                    Case{Fault::damaged_guard, "DamagedGuard"}),
    [](const auto& test) { return test.param.name; });

TEST(FaultReport, SaysNothingWrongOfSoundKernels) { EXPECT_EQ(run_faulty(Fault::none, kSmall).exit_code, 0); }

TEST(FaultReport, NamesTheTensorTheCoordinatesAndTheCommand) {
  std::vector<std::string> arguments = kSmall;
  arguments.insert(arguments.end(), {"--mask", "top_left"});
  const Outcome outcome = run_faulty(Fault::nan_element, arguments);
  EXPECT_THAT(outcome.out, testing::HasSubstr("dV"));
  EXPECT_THAT(outcome.out, testing::HasSubstr("nan"));
  // The middle element of dV [1, 1, 90, 32].
  EXPECT_THAT(outcome.out, testing::HasSubstr("45"));
  EXPECT_THAT(outcome.out,
              testing::HasSubstr("fmha_bwd --mask top_left --batch 1 --nhead 2 --nhead-k 1 --seqlen-q 70 "
                                 "--seqlen-k 90 --hdim 32"));
}

TEST(FaultReport, DoesNotTimeAWrongKernel) {
  std::vector<std::string> arguments = kSmall;
  arguments.insert(arguments.end(), {"--format", "json", "--mask", "no_mask"});
  const Outcome outcome = run_faulty(Fault::zeroed_dk, arguments);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, testing::HasSubstr("\"timing\": null"));
}

}  // namespace
}  // namespace fmha_bwd
