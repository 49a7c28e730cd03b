// Lanes, waves and workgroups: who meets whom, and programs whose lanes cannot meet.
#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/lane_kernels.h"

namespace fmha_bwd {
namespace {

using test_kernels::Indices;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

using Lane = Emulator;
using Barrier = Emulator;
using Wave = Emulator;

std::string line(int number) { return "lane_kernels.hip:" + std::to_string(number); }

TEST_F(Lane, SeesItsIndicesInThreeDimensions) {
  const dim3 grid(3, 2, 5);
  const dim3 block(4, 3, 2);
  const DeviceArray<Indices> out(3 * 2 * 5 * 4 * 3 * 2);
  hipLaunchKernelGGL(test_kernels::write_indices, grid, block, 0, nullptr, out.data());
  ASSERT_EQ(objection(), "");
  std::vector<Indices> expected;
  for (unsigned bz = 0; bz < 5; ++bz)
    for (unsigned by = 0; by < 2; ++by)
      for (unsigned bx = 0; bx < 3; ++bx)
        for (unsigned tz = 0; tz < 2; ++tz)
          for (unsigned ty = 0; ty < 3; ++ty)
            for (unsigned tx = 0; tx < 4; ++tx)
              expected.push_back({{tx, ty, tz}, {bx, by, bz}, {4, 3, 2}, {3, 2, 5}});
  EXPECT_EQ(out.values(), expected);
}

TEST_F(Lane, IsOneOfAThousandAtMost) {
  const DeviceArray<Indices> out(1024);
  hipLaunchKernelGGL(test_kernels::write_indices, dim3(1), dim3(32, 8, 4), 0, nullptr, out.data());
  ASSERT_EQ(objection(), "");
  const std::vector<Indices> all = out.values();
  EXPECT_EQ(all.back(), (Indices{{31, 7, 3}, {0, 0, 0}, {32, 8, 4}, {1, 1, 1}}));
}

TEST_F(Barrier, ExchangesThroughSharedMemory) {
  std::vector<int> values(5 * 96);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * i);
  const DeviceArray<int> in(values);
  const DeviceArray<int> out(values.size());
  hipLaunchKernelGGL(test_kernels::reverse, dim3(5), dim3(96), 96 * sizeof(int), nullptr, in.data(),
                     out.data());
  ASSERT_EQ(objection(), "");
  const std::vector<int> actual = out.values();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::size_t source = i / 96 * 96 + 95 - i % 96;
    EXPECT_EQ(actual[i], static_cast<int>(source * source)) << i;
  }
}

TEST_F(Barrier, HoldsEveryRoundOfALoop) {
  const DeviceArray<int> out(200);
  hipLaunchKernelGGL(test_kernels::rotate_a_hundred_times, dim3(1), dim3(200), 200 * sizeof(int), nullptr,
                     out.data());
  ASSERT_EQ(objection(), "");
  const std::vector<int> actual = out.values();
  for (int i = 0; i < 200; ++i) {
    int expected = 0;
    for (int round = 0; round < 100; ++round) expected += (i + round) % 200 * round;
    EXPECT_EQ(actual[static_cast<std::size_t>(i)], expected) << i;
  }
}

TEST_F(Barrier, IsNoPlaceForOneLaneAlone) {
  const DeviceArray<int> in(std::vector<int>{7});
  const DeviceArray<int> out(1);
  hipLaunchKernelGGL(test_kernels::reverse, dim3(1), dim3(1), sizeof(int), nullptr, in.data(), out.data());
  EXPECT_EQ(objection(), "");
  EXPECT_EQ(out.values(), std::vector<int>{7});
}

TEST_F(Wave, GoesItsOwnWayBetweenBarriers) {
  for (const char* arch : {"gfx942", "sm_90a"}) {
    select_arch(arch);
    const int wave_size = arch[0] == 'g' ? 64 : 32;
    const DeviceArray<int> out(256);
    hipLaunchKernelGGL(test_kernels::waves_go_their_own_ways, dim3(1), dim3(256), 64, nullptr, out.data());
    ASSERT_EQ(objection(), "");
    const std::vector<int> actual = out.values();
    const int waves = 256 / wave_size;
    for (int i = 0; i < 256; ++i) {
      EXPECT_EQ(actual[static_cast<std::size_t>(i)], 10 * (waves - 1 - i / wave_size)) << arch << " " << i;
    }
  }
}

TEST_F(Wave, ShufflesWhileAnotherWaveNeverDoes) {
  const DeviceArray<int> out(128);
  hipLaunchKernelGGL(test_kernels::only_wave_0_shuffles, dim3(1), dim3(128), 0, nullptr, 1000, out.data());
  ASSERT_EQ(objection(), "");
  const std::vector<int> actual = out.values();
  EXPECT_THAT(std::vector<int>(actual.begin(), actual.begin() + 64), Each(1000));
  EXPECT_THAT(std::vector<int>(actual.begin() + 64, actual.end()), Each(0));
}

TEST_F(Wave, NeedNotBeFull) {
  const DeviceArray<int> out(100);
  hipLaunchKernelGGL(test_kernels::only_wave_0_shuffles, dim3(1), dim3(10), 0, nullptr, 3, out.data());
  EXPECT_EQ(objection(), "");
}

// Waves, and shuffles without barriers, by the ten thousands: clocks that count them must not overflow.
TEST_F(Wave, ShufflesAHundredThousandTimes) {
  const DeviceArray<int> out(2);
  hipLaunchKernelGGL(test_kernels::only_wave_0_shuffles, dim3(1), dim3(2), 0, nullptr, 100000, out.data());
  ASSERT_EQ(objection(), "");
  EXPECT_THAT(out.values(), Each(100000));
}

TEST_F(Barrier, ThatHalfTheLanesReachElsewhereIsDivergent) {
  hipLaunchKernelGGL(test_kernels::two_barriers, dim3(2), dim3(64), 0, nullptr, 32);
  EXPECT_THAT(report_of_fault(),
              AllOf(HasSubstr("two_barriers"), HasSubstr("gfx942"), HasSubstr("divergent barrier"),
                    HasSubstr("lanes 0-31 wait in __syncthreads"), HasSubstr("lanes 32-63 wait in"),
                    HasSubstr(line(test_kernels::two_barriers_lines[0])),
                    HasSubstr(line(test_kernels::two_barriers_lines[1]))));
}

TEST_F(Barrier, ThatWholeWavesReachElsewhereIsDivergentToo) {
  hipLaunchKernelGGL(test_kernels::two_barriers, dim3(1), dim3(256), 0, nullptr, 128);
  EXPECT_THAT(report_of_fault(),
              AllOf(HasSubstr("divergent barrier"), HasSubstr("lanes 0-127"), HasSubstr("lanes 128-255")));
}

TEST_F(Barrier, ThatLanesHaveExitedBeforeIsDivergent) {
  hipLaunchKernelGGL(test_kernels::barrier_after_exit, dim3(1), dim3(256), 0, nullptr, 255);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("divergent barrier"), HasSubstr("lanes 0-254 wait in"),
                                       HasSubstr("lane 255 ")));
  hipLaunchKernelGGL(test_kernels::barriers_in_a_loop_of_own_length, dim3(1), dim3(256), 0, nullptr);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("divergent barrier"), HasSubstr("lanes 100-255 wait in")));
}

TEST_F(Wave, CannotShuffleWithLanesThatHaveExited) {
  hipLaunchKernelGGL(test_kernels::shuffle_after_exit, dim3(1), dim3(128), 0, nullptr, 32);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("divergent wave function"),
                                       HasSubstr("lanes 0-31 wait in __shfl_xor"), HasSubstr("32-")));
}

TEST_F(Wave, CannotDoTwoFunctionsAtOnce) {
  hipLaunchKernelGGL(test_kernels::two_shuffles, dim3(1), dim3(64), 0, nullptr, 5);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("divergent wave function"), HasSubstr("lanes 0-4 wait in"),
                                       HasSubstr("lanes 5-63 wait in")));
  hipLaunchKernelGGL(test_kernels::shuffle_and_ballot, dim3(1), dim3(64), 0, nullptr, 63);
  EXPECT_THAT(report_of_fault(),
              AllOf(HasSubstr("divergent wave function"), HasSubstr("lanes 0-62 wait in __shfl_down"),
                    HasSubstr("lane 63 "), HasSubstr("__ballot")));
}

TEST_F(Wave, OfOneArchitectureMayDivergeWhereTwoOfAnotherDoNot) {
  select_arch("sm_90a");
  hipLaunchKernelGGL(test_kernels::two_shuffles, dim3(1), dim3(64), 0, nullptr, 32);
  EXPECT_EQ(objection(), "");
  select_arch("gfx942");
  hipLaunchKernelGGL(test_kernels::two_shuffles, dim3(1), dim3(64), 0, nullptr, 32);
  EXPECT_THAT(report_of_fault(), HasSubstr("divergent wave function"));
}

TEST_F(Barrier, ThatWaitsForLanesInAShuffleIsADeadlock) {
  hipLaunchKernelGGL(test_kernels::barrier_or_shuffle, dim3(1), dim3(64), 0, nullptr, 32);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("deadlock"), HasSubstr("lanes 0-31 wait in __syncthreads"),
                                       HasSubstr("lanes 32-63 wait in __shfl"),
                                       HasSubstr(line(test_kernels::barrier_or_shuffle_lines[0])),
                                       HasSubstr(line(test_kernels::barrier_or_shuffle_lines[1]))));
}

TEST_F(Barrier, IsNotWaitedForByWavesThatShuffle) {
  // Wave 1 passes its shuffle and ends, so that wave 0 waits at its barrier for nobody.
  hipLaunchKernelGGL(test_kernels::barrier_or_shuffle, dim3(1), dim3(128), 0, nullptr, 64);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("divergent barrier"), HasSubstr("lanes 0-63 wait in")));
}

}  // namespace
}  // namespace fmha_bwd
