// Launches: what a device can launch, and in which order lanes and workgroups run.
#include <thread>

#include "tests/kernels/platform/emulator/device_functions_kernels.h"
#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/lane_kernels.h"

namespace fmha_bwd {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class Launch : public Emulator {
 protected:
  /// Why no kernel ran.
  static std::string refusal() {
    const hipError_t error = hipGetLastError();
    EXPECT_EQ(error, hipErrorInvalidConfiguration) << hipGetErrorString(error);
    return hipGetErrorString(error);
  }
  static void launch(const dim3& grid, const dim3& block, std::size_t shared_bytes = 0) {
    hipLaunchKernelGGL(test_kernels::only_wave_0_shuffles, grid, block, shared_bytes, nullptr, 0, out());
  }
  static int* out() {
    static const DeviceArray<int> memory(1024);
    return memory.data();
  }
  static hipError_t allow_shared(int bytes) {
    return hipFuncSetAttribute(reinterpret_cast<const void*>(&test_kernels::only_wave_0_shuffles),
                               hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
  }
};

TEST_F(Launch, NeedsAtLeastOneLaneInOneWorkgroup) {
  for (const dim3& block : {dim3(0), dim3(64, 0), dim3(64, 1, 0)}) {
    launch(dim3(1), block);
    EXPECT_THAT(refusal(), HasSubstr("only_wave_0_shuffles"));
  }
  for (const dim3& grid : {dim3(0), dim3(1, 0), dim3(1, 1, 0)}) {
    launch(grid, dim3(64));
    EXPECT_THAT(refusal(), HasSubstr("only_wave_0_shuffles"));
  }
}

TEST_F(Launch, TakesUpTo1024Lanes) {
  launch(dim3(1), dim3(1024));
  EXPECT_EQ(objection(), "");
  for (const dim3& block : {dim3(1025), dim3(512, 2, 2), dim3(65536, 65536, 1), dim3(1u << 31, 2, 1)}) {
    launch(dim3(1), block);
    EXPECT_THAT(refusal(), HasSubstr("1024"));
  }
}

TEST_F(Launch, TakesAsMuchSharedMemoryAsTheArchitectureHas) {
  launch(dim3(1), dim3(64), 65536);
  EXPECT_EQ(objection(), "");
  launch(dim3(1), dim3(64), 65537);
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("65537"), HasSubstr("shared memory"), HasSubstr("gfx942"), HasSubstr("65536")));
  select_arch("sm_90a");
  ASSERT_EQ(allow_shared(232448), hipSuccess);
  launch(dim3(1), dim3(64), 65537);
  EXPECT_EQ(objection(), "");
  launch(dim3(1), dim3(64), 232448);
  EXPECT_EQ(objection(), "");
  launch(dim3(1), dim3(64), 232449);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("232449"), HasSubstr("sm_90a")));
}

TEST_F(Launch, RunsEveryWorkgroupOnce) {
  for (const auto& seed : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(1),
                           std::optional<std::uint64_t>(~0ull), std::optional<std::uint64_t>(12345678901)}) {
    for (const unsigned workgroups : {1u, 2u, 7u, 64u, 300u}) {
      set_settings({.threads = 0, .schedule_seed = seed});
      const DeviceArray<unsigned> counter(std::vector<unsigned>{0});
      const DeviceArray<int> taken(std::vector<int>(workgroups * 4, 0));
      hipLaunchKernelGGL(test_kernels::take_tickets, dim3(workgroups), dim3(4), 0, nullptr, counter.data(),
                         taken.data());
      ASSERT_EQ(objection(), "");
      EXPECT_THAT(taken.values(), Each(1)) << workgroups;
    }
  }
}

TEST_F(Launch, GivesTheSameResultInEveryOrder) {
  const DeviceArray<int> in_order(200);
  hipLaunchKernelGGL(test_kernels::rotate_a_hundred_times, dim3(1), dim3(200), 800, nullptr, in_order.data());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    set_settings({.threads = 0, .schedule_seed = seed});
    const DeviceArray<int> out(200);
    hipLaunchKernelGGL(test_kernels::rotate_a_hundred_times, dim3(1), dim3(200), 800, nullptr, out.data());
    EXPECT_EQ(objection(), "");
    EXPECT_EQ(out.values(), in_order.values()) << "seed " << seed;
  }
}

class Order : public Launch {
 protected:
  /// The turn that each thread of the grid had.
  static std::vector<unsigned> turns(const std::optional<std::uint64_t>& seed) {
    set_settings({.threads = 1, .schedule_seed = seed});
    const DeviceArray<unsigned> counter(std::vector<unsigned>{0});
    const DeviceArray<unsigned> out(8 * 64);
    hipLaunchKernelGGL(test_kernels::note_turns, dim3(8), dim3(64), 0, nullptr, counter.data(), out.data());
    EXPECT_EQ(objection(), "");
    return out.values();
  }
};

TEST_F(Order, IsThatOfTheIndicesWithoutASeed) {
  const std::vector<unsigned> actual = turns(std::nullopt);
  for (unsigned i = 0; i < 8 * 64; ++i) EXPECT_EQ(actual[i], i);
}

TEST_F(Order, IsReproducedByItsSeed) {
  const std::vector<unsigned> first = turns(1);
  EXPECT_EQ(turns(1), first);
  EXPECT_NE(turns(2), first);
  EXPECT_NE(first, turns(std::nullopt));
}

TEST_F(Order, VariesLanesAndWorkgroups) {
  const std::vector<unsigned> actual = turns(1);
  bool lanes_vary = false;
  bool workgroups_vary = false;
  for (unsigned block = 0; block < 8; ++block) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      lanes_vary |= actual[block * 64 + lane] % 64 != lane;
      workgroups_vary |= actual[block * 64 + lane] / 64 != block;
    }
  }
  EXPECT_TRUE(lanes_vary);
  EXPECT_TRUE(workgroups_vary);
}

TEST_F(Launch, StopsAtTheFirstFault) {
  set_settings({.threads = 1, .schedule_seed = {}});
  const DeviceArray<int> ended(std::vector<int>(100, 0));
  hipLaunchKernelGGL(test_kernels::fail_in_workgroup, dim3(100), dim3(64), 0, nullptr, 30u, ended.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("workgroup (30,0,0)"));
  const std::vector<int> actual = ended.values();
  EXPECT_THAT(std::vector<int>(actual.begin(), actual.begin() + 30), Each(1));
  EXPECT_THAT(std::vector<int>(actual.begin() + 31, actual.end()), Each(0));
}

TEST_F(Launch, CanBeDoneByTwoThreadsAtOnce) {
  const auto work = [] {
    select_arch("sm_90a");
    for (int i = 0; i < 5; ++i) {
      const DeviceArray<int> out(200);
      hipLaunchKernelGGL(test_kernels::rotate_a_hundred_times, dim3(1), dim3(200), 800, nullptr, out.data());
      EXPECT_EQ(objection(), "");
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST_F(Launch, TakesAKernelWithoutArguments) {
  hipLaunchKernelGGL(test_kernels::do_nothing, dim3(3), dim3(64), 0, nullptr);
  EXPECT_EQ(objection(), "");
}

}  // namespace
}  // namespace fmha_bwd
