// Asynchronous copies: when they happen, and when a lane must wait.
#include "tests/kernels/platform/emulator/copy_async_kernels.h"

#include "tests/kernels/platform/emulator/emulator_test.h"

namespace fmha_bwd {
namespace {

using test_kernels::Seen;
using test_kernels::SeenByLane;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr unsigned kLanes = 64;

/// Element i is 100 + i, four times.
std::vector<uint4> numbers(unsigned count) {
  std::vector<uint4> values;
  for (unsigned i = 0; i < count; ++i) values.push_back(make_uint4(100 + i, 100 + i, 100 + i, 100 + i));
  return values;
}

template <class Base>
class OnNvidia : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    if (!testing::Test::IsSkipped()) select_arch("sm_80");
  }
  static void leave_under_way(bool commit) {
    const DeviceArray<uint4> values(numbers(1));
    hipLaunchKernelGGL(test_kernels::leave_copy_under_way, dim3(1), dim3(kLanes), 16, nullptr, values.data(),
                       commit);
  }
};
using CopyAsync = OnNvidia<Emulator>;
using CopyAsyncChecks = OnNvidia<MemoryChecks>;

TEST_F(CopyAsync, HappensWhenItsGroupIsWaitedFor) {
  const DeviceArray<uint4> values(numbers(2 * kLanes));
  const DeviceArray<SeenByLane> seen(3 * kLanes);
  hipLaunchKernelGGL(test_kernels::copy_two_groups, dim3(3), dim3(kLanes), 2 * 16 * kLanes, nullptr,
                     values.data(), seen.data());
  ASSERT_EQ(objection(), "");
  const std::vector<SeenByLane> actual = seen.values();
  for (unsigned i = 0; i < 3 * kLanes; ++i) {
    const unsigned first = 100 + i % kLanes;
    EXPECT_EQ(actual[i], (SeenByLane{{7, 8}, {first, 8}, {first, first + kLanes}})) << i;
  }
}

TEST_F(CopyAsync, IsNotWaitedForBeforeItIsCommitted) {
  const DeviceArray<uint4> values(numbers(kLanes));
  const DeviceArray<Seen> seen(kLanes);
  hipLaunchKernelGGL(test_kernels::wait_before_commit, dim3(1), dim3(kLanes), 16 * kLanes, nullptr,
                     values.data(), seen.data());
  ASSERT_EQ(objection(), "");
  const std::vector<Seen> actual = seen.values();
  for (unsigned i = 0; i < kLanes; ++i) EXPECT_EQ(actual[i], (Seen{7, 100 + i})) << i;
}

TEST_F(CopyAsync, IsOfZerosWhereNothingExists) {
  std::vector<int> exists(kLanes);
  for (unsigned i = 0; i < kLanes; ++i) exists[i] = i % 3 == 0 ? 1 : 0;
  const DeviceArray<uint4> values(numbers(kLanes));
  const DeviceArray<int> device_exists(exists);
  const DeviceArray<uint4> copies(kLanes);
  hipLaunchKernelGGL(test_kernels::copy_where_exists, dim3(1), dim3(kLanes), 16 * kLanes, nullptr,
                     values.data(), device_exists.data(), copies.data());
  ASSERT_EQ(objection(), "");
  const std::vector<uint4> actual = copies.values();
  for (unsigned i = 0; i < kLanes; ++i) {
    const unsigned expected = i % 3 == 0 ? 100 + i : 0;
    EXPECT_EQ(actual[i].x, expected) << i;
    EXPECT_EQ(actual[i].w, expected) << i;
  }
}

TEST_F(CopyAsync, ForAnotherLaneNeedsABarrier) {
  const DeviceArray<uint4> values(numbers(kLanes));
  const DeviceArray<std::uint32_t> out(kLanes);
  const auto run = [&](bool barrier) {
    hipLaunchKernelGGL(test_kernels::copy_for_neighbour, dim3(1), dim3(kLanes), 16 * kLanes, nullptr,
                       values.data(), barrier, out.data());
  };
  run(true);
  ASSERT_EQ(objection(), "");
  for (unsigned i = 0; i < kLanes; ++i) EXPECT_EQ(out.values()[i], 100 + (i ^ 1)) << i;
  if (kThreadSanitizer) return;
  run(false);
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
}

TEST_F(CopyAsync, IsWaitedForBeforeTheLaneEnds) {
  for (const bool commit : {false, true}) {
    leave_under_way(commit);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("lane 0: ended with 1 copies under way"))) << commit;
  }
  // None is left for the next kernel.
  const DeviceArray<uint4> values(numbers(kLanes));
  const DeviceArray<std::uint32_t> out(kLanes);
  hipLaunchKernelGGL(test_kernels::copy_and_read, dim3(1), dim3(kLanes), 16 * kLanes, nullptr, values.data(),
                     false, out.data());
  EXPECT_EQ(objection(), "");
}

TEST_F(CopyAsync, NeedsAlignedAddressesOfTheRightMemory) {
  const DeviceArray<uint4> values(numbers(2));
  const auto copy = [&](int skew, int shared_offset) {
    hipLaunchKernelGGL(test_kernels::copy_between, dim3(1), dim3(1), 64, nullptr,
                       reinterpret_cast<const std::byte*>(values.data()) + skew, shared_offset);
  };
  copy(0, 48);
  EXPECT_EQ(objection(), "");
  copy(4, 0);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("copy_async at "), HasSubstr("copy_async_kernels.hip:"),
                                       HasSubstr("an address that is 4 bytes over a multiple of 16")));
  copy(0, 8);
  EXPECT_THAT(report_of_fault(), HasSubstr("an address that is 8 bytes over a multiple of 16"));
  copy(0, 64);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("copy_async at "), HasSubstr("copy_async_kernels.hip:"),
                                       HasSubstr("out of bounds: write of 16 bytes at offset 64")));
  hipLaunchKernelGGL(test_kernels::copy_to_device, dim3(1), dim3(1), 64, nullptr, values.data(),
                     values.data() + 1);
  EXPECT_THAT(report_of_fault(), HasSubstr("an address that is not of shared memory"));
  hipLaunchKernelGGL(test_kernels::copy_from_shared, dim3(1), dim3(1), 64, nullptr);
  EXPECT_THAT(report_of_fault(), HasSubstr("a copy from shared memory"));
}

TEST_F(CopyAsync, IsNvidiasAlone) {
  select_arch("gfx950");
  leave_under_way(true);
  EXPECT_THAT(report_of_fault(), HasSubstr("copy_async: gfx950 has no such instruction"));
}

TEST_F(CopyAsyncChecks, FindReadsBeforeTheWait) {
  const DeviceArray<uint4> values(numbers(kLanes));
  const DeviceArray<std::uint32_t> out(kLanes);
  hipLaunchKernelGGL(test_kernels::copy_and_read, dim3(1), dim3(kLanes), 16 * kLanes, nullptr, values.data(),
                     true, out.data());
  EXPECT_THAT(report_of_fault(),
              AllOf(HasSubstr("nothing was written there"), HasSubstr("copy_async_kernels.hip:")));
}

TEST_F(CopyAsyncChecks, FindWhatIsWrongWithTheSource) {
  const DeviceArray<uint4> values(numbers(2));
  const DeviceArray<uint4> unwritten(1);
  hipLaunchKernelGGL(test_kernels::copy_between, dim3(1), dim3(1), 64, nullptr, values.data() + 2, 0);
  EXPECT_THAT(
      report_of_fault(),
      AllOf(HasSubstr("out of bounds: read of 16 bytes at offset 32 of a device allocation of 32 bytes"),
            HasSubstr("copy_async_kernels.hip:")));
  hipLaunchKernelGGL(test_kernels::copy_between, dim3(1), dim3(1), 64, nullptr, unwritten.data(), 0);
  EXPECT_THAT(report_of_fault(), HasSubstr("nothing was written there: read of 16 bytes"));
}

// A copy may write as soon as it is started, whenever it is waited for.
TEST_F(CopyAsyncChecks, FindReadsOfWhatACopyMayHaveWritten) {
  const DeviceArray<uint4> values(numbers(kLanes));
  const DeviceArray<std::uint32_t> out(kLanes);
  hipLaunchKernelGGL(test_kernels::read_then_copy, dim3(1), dim3(kLanes), 16 * kLanes, nullptr, values.data(),
                     out.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
}

TEST(CopyAsyncDeathTest, IsARaceForThreadSanitizerFromItsStartToItsWait) {
  if (!kThreadSanitizer) GTEST_SKIP() << "not a build with ThreadSanitizer";
  const auto run = [](const auto& launch_kernel) {
    select_arch("sm_80");
    const DeviceArray<uint4> values(numbers(kLanes));
    const DeviceArray<std::uint32_t> out(kLanes);
    launch_kernel(values.data(), out.data());
    std::exit(objection().empty() ? 0 : 1);
  };
  const auto read_then_copy = [](const uint4* values, std::uint32_t* out) {
    hipLaunchKernelGGL(test_kernels::read_then_copy, dim3(1), dim3(kLanes), 16 * kLanes, nullptr, values,
                       out);
  };
  const auto copy_for_neighbour = [](const uint4* values, std::uint32_t* out) {
    hipLaunchKernelGGL(test_kernels::copy_for_neighbour, dim3(1), dim3(kLanes), 16 * kLanes, nullptr, values,
                       false, out);
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(run(read_then_copy), testing::ExitedWithCode(66), "data race");
  EXPECT_EXIT(run(copy_for_neighbour), testing::ExitedWithCode(66), "data race");
}

}  // namespace
}  // namespace fmha_bwd
