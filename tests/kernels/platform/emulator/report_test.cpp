// What a report says: the kernel, and where in its sources it went wrong.
#include "kernels/platform/emulator/report.h"

#include <cstdlib>

#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/report_kernels.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;

TEST_F(MemoryChecks, ReportTheLineAndTheFunctionsThatItIsInlinedInto) {
  if (std::system("addr2line --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no addr2line";
  const DeviceArray<std::byte> data(0);
  hipLaunchKernelGGL(test_kernels::write_in_a_function, dim3(1), dim3(1), 0, nullptr,
                     reinterpret_cast<int*>(data.data()));
  const std::string file = "tests/kernels/platform/emulator/report_kernels.hip:";
  EXPECT_EQ(report_of_fault(),
            "kernel fmha_bwd::test_kernels::write_in_a_function on gfx942, workgroup (0,0,0), lane 0: out of "
            "bounds: write of 4 bytes at offset 0 of a device allocation of 0 bytes"
            "\n    in fmha_bwd::test_kernels::write_one(int*) at " +
                file + std::to_string(test_kernels::kLineOfWrite) +
                "\n    in fmha_bwd::test_kernels::write_in_a_function(int*) at " + file +
                std::to_string(test_kernels::kLineOfCall));
}

TEST_F(Emulator, ReportsTheFirstWorkgroupThatFailsInEveryRun) {
  for (int i = 0; i < 10; ++i) {
    hipLaunchKernelGGL(test_kernels::fail_in_some_workgroups, dim3(40), dim3(64), 0, nullptr);
    EXPECT_THAT(report_of_fault(), HasSubstr("fail_in_some_workgroups on gfx942, workgroup (3,0,0), "));
  }
}

void set(hip_emulator::Lane& lane, int number, hip_emulator::LaneState state, int line) {
  lane.number = number;
  lane.state = state;
  lane.site = {"__syncthreads", "kernels/x.hip", line};
}

TEST(WhoWaitsWhere, GroupsLanesByWhatTheyWaitFor) {
  using hip_emulator::LaneState;
  hip_emulator::Lane lanes[6];
  set(lanes[0], 64, LaneState::at_barrier, 12);
  set(lanes[1], 65, LaneState::at_barrier, 12);
  set(lanes[2], 66, LaneState::ended, 0);
  set(lanes[3], 67, LaneState::at_barrier, 12);
  set(lanes[4], 68, LaneState::at_barrier, 30);
  set(lanes[5], 69, LaneState::at_barrier, 12);
  EXPECT_EQ(hip_emulator::who_waits_where(lanes),
            "lanes 64-65,67,69 wait in __syncthreads at kernels/x.hip:12; lane 66 has ended; "
            "lane 68 waits in __syncthreads at kernels/x.hip:30");
}

}  // namespace
}  // namespace fmha_bwd
