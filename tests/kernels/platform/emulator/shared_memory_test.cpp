// Shared memory: its bounds, what was never written there, and races.
#include <cstdlib>

#include "tests/kernels/platform/emulator/emulator_test.h"
#include "tests/kernels/platform/emulator/shared_memory_kernels.h"

namespace fmha_bwd {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class SharedMemory : public MemoryChecks {
 protected:
  static void read(std::ptrdiff_t offset, int bytes, int filled, std::size_t shared_bytes) {
    const DeviceArray<unsigned> out(std::vector<unsigned>(4, 0));
    hipLaunchKernelGGL(test_kernels::read_shared, dim3(1), dim3(64), shared_bytes, nullptr, offset, bytes,
                       filled, out.data());
  }
  static void write(std::ptrdiff_t offset, int bytes, std::size_t shared_bytes) {
    hipLaunchKernelGGL(test_kernels::write_shared, dim3(1), dim3(64), shared_bytes, nullptr, offset, bytes);
  }
};

TEST_F(SharedMemory, IsReadAndWrittenUpToItsLastByte) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    read(96 - bytes, bytes, 96, 96);
    EXPECT_EQ(objection(), "") << bytes;
    write(96 - bytes, bytes, 96);
    EXPECT_EQ(objection(), "") << bytes;
  }
}

TEST_F(SharedMemory, EndsAfterItsLastByte) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    read(96, bytes, 96, 96);
    EXPECT_THAT(report_of_fault(),
                AllOf(HasSubstr("lane 0: out of bounds: read of " + std::to_string(bytes) + " byte"),
                      HasSubstr("offset 96 of shared memory"), HasSubstr("96 bytes")));
    write(96, bytes, 96);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("lane 0: out of bounds: write of "),
                                         HasSubstr("offset 96 of shared memory"), HasSubstr("96 bytes")));
  }
  hipLaunchKernelGGL(test_kernels::add_to_shared, dim3(1), dim3(64), 96, nullptr, 96);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: atomic"));
}

TEST_F(SharedMemory, StartsAtItsFirstByte) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    read(-bytes, bytes, 96, 96);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("out of bounds: read"),
                                         HasSubstr("offset -" + std::to_string(bytes) + " of shared")));
    write(-bytes, bytes, 96);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("out of bounds: write"),
                                         HasSubstr("offset -" + std::to_string(bytes) + " of shared")));
  }
}

TEST_F(SharedMemory, MayNotBeReadAcrossItsEnd) {
  read(96, 8, 100, 100);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: read of 8 bytes at offset 96"));
  write(96, 8, 100);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: write of 8 bytes at offset 96"));
  write(96, 16, 104);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: write"));
}

TEST_F(SharedMemory, IsNotThereWhereNoneIsAskedFor) {
  write(0, 4, 0);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: write of 4 bytes at offset 0"));
}

TEST_F(SharedMemory, HasNothingInItBeforeAWrite) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    read(32, bytes, 0, 64);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("nothing was written there: read of"),
                                         HasSubstr("at offset 32 of shared memory")))
        << bytes;
    read(32, bytes, 32 + bytes - 1, 64);  // all but the last byte
    EXPECT_THAT(report_of_fault(), HasSubstr("nothing was written there")) << bytes;
    read(32, bytes, 32 + bytes, 64);
    EXPECT_EQ(objection(), "") << bytes;
  }
  hipLaunchKernelGGL(test_kernels::add_to_shared, dim3(1), dim3(64), 64, nullptr, 32);
  EXPECT_THAT(report_of_fault(), HasSubstr("nothing was written there: atomic"));
}

TEST_F(SharedMemory, IsFreshForEveryWorkgroup) {
  set_settings({.threads = 1, .schedule_seed = {}});
  const DeviceArray<int> out(128);
  hipLaunchKernelGGL(test_kernels::read_what_another_workgroup_wrote, dim3(2), dim3(64), 256, nullptr,
                     out.data());
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("workgroup (1,0,0)"), HasSubstr("nothing was written")));
}

// The compiler may not read what the source does not, as a vectorized loop might.
TEST_F(SharedMemory, IsReadOnlyWhereTheSourceReadsIt) {
  const DeviceArray<int> out(64);
  hipLaunchKernelGGL(test_kernels::sum_even_elements, dim3(1), dim3(64), 1024, nullptr, 256, out.data());
  EXPECT_EQ(objection(), "");
  EXPECT_THAT(out.values(), Each(127 * 128));
}

class Race : public MemoryChecks {
 protected:
  using Neighbour = void (*)(unsigned distance, int* out);
  static void run(Neighbour kernel, unsigned distance) {
    const DeviceArray<int> out(128);
    hipLaunchKernelGGL(kernel, dim3(1), dim3(128), 512, nullptr, distance, out.data());
  }
};

TEST_F(Race, IsWhereABarrierIsMissingBetweenWaves) {
  run(test_kernels::neighbour_after_nothing, 64);
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
  run(test_kernels::neighbour_after_barrier, 64);
  EXPECT_EQ(objection(), "");
}

TEST_F(Race, IsWhereABarrierIsMissingInAWave) {
  run(test_kernels::neighbour_after_nothing, 1);
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
  run(test_kernels::neighbour_after_barrier, 1);
  EXPECT_EQ(objection(), "");
}

TEST_F(Race, NamesBothLanes) {
  hipLaunchKernelGGL(test_kernels::write_twice, dim3(1), dim3(128), 16, nullptr, 3u, 70u);
  EXPECT_THAT(report_of_fault(),
              AllOf(HasSubstr("race: write of"), HasSubstr("offset 4"), HasSubstr("lane 70"),
                    HasSubstr("lane 3 wrote"), HasSubstr("no barrier between")));
}

TEST_F(Race, IsNotWhereTheWaveMeets) {
  for (const auto kernel : {test_kernels::neighbour_after_shuffle, test_kernels::neighbour_after_vote}) {
    const DeviceArray<int> out(64);
    hipLaunchKernelGGL(kernel, dim3(1), dim3(64), 512, nullptr, 17u, out.data());
    EXPECT_EQ(objection(), "");
  }
}

TEST_F(Race, IsStillWhereAnotherWaveOnlyMeetsItself) {
  run(test_kernels::neighbour_after_shuffle, 64);
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
  run(test_kernels::neighbour_after_vote, 64);
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
}

TEST_F(Race, OfAWriteWithEarlierReadsIsSeenWhoeverWrites) {
  for (const unsigned writer : {0u, 1u, 31u, 63u, 64u, 100u, 126u}) {
    const DeviceArray<int> out(128);
    hipLaunchKernelGGL(test_kernels::write_after_read, dim3(1), dim3(128), 16, nullptr, writer, out.data());
    EXPECT_THAT(report_of_fault(), HasSubstr("race: ")) << writer;
    hipLaunchKernelGGL(test_kernels::write_after_read_and_barrier, dim3(1), dim3(128), 16, nullptr, writer,
                       out.data());
    EXPECT_EQ(objection(), "") << writer;
  }
  // The last lane writes when all others have read.
  const DeviceArray<int> out(128);
  hipLaunchKernelGGL(test_kernels::write_after_read, dim3(1), dim3(128), 16, nullptr, 127u, out.data());
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("race: write"), HasSubstr("lane 127"), HasSubstr(" read ")));
}

TEST_F(Race, WithAnotherWaveIsNotOrderedByAShuffle) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    set_settings({.threads = 1, .schedule_seed = seed});
    const DeviceArray<int> out(128);
    hipLaunchKernelGGL(test_kernels::shuffle_that_orders_another_wave, dim3(1), dim3(128), 16, nullptr,
                       out.data());
    EXPECT_THAT(report_of_fault(), HasSubstr("race: ")) << "seed " << seed;
  }
}

TEST_F(Race, IsBetweenTwoWrites) {
  hipLaunchKernelGGL(test_kernels::write_twice, dim3(1), dim3(128), 16, nullptr, 5u, 6u);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("race: write"), HasSubstr("lane 6"), HasSubstr("lane 5")));
  hipLaunchKernelGGL(test_kernels::write_twice, dim3(1), dim3(128), 16, nullptr, 5u, 5u);
  EXPECT_EQ(objection(), "");
  hipLaunchKernelGGL(test_kernels::write_same_bytes, dim3(1), dim3(64), 32, nullptr);
  EXPECT_THAT(report_of_fault(), HasSubstr("race: write of 1 byte"));
}

TEST_F(Race, IsNotBetweenDifferentBytesOfAWord) {
  const DeviceArray<std::uint8_t> bytes(64);
  const DeviceArray<std::uint16_t> halves(64);
  hipLaunchKernelGGL(test_kernels::write_parts_of_words, dim3(1), dim3(64), 64 * 3, nullptr, bytes.data(),
                     halves.data());
  EXPECT_EQ(objection(), "");
  EXPECT_EQ(bytes.values()[63], 63);
  EXPECT_EQ(halves.values()[63], 63);
}

TEST_F(Race, IsSeenWithEitherWriterOfAWord) {
  const DeviceArray<int> out(1);
  for (const unsigned whose : {0u, 1u}) {
    hipLaunchKernelGGL(test_kernels::read_half_of_a_word, dim3(1), dim3(64), 4, nullptr, whose, out.data());
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("race: read of 2 bytes"),
                                         HasSubstr("lane " + std::to_string(whose) + " wrote")));
  }
}

TEST_F(Race, KnowsWhenEachByteWasRead) {
  const DeviceArray<int> out(64);
  hipLaunchKernelGGL(test_kernels::read_bytes_at_different_times, dim3(1), dim3(64), 4, nullptr, out.data());
  EXPECT_EQ(objection(), "");
  EXPECT_EQ(out.values()[0], 2);
}

TEST_F(Race, IsNotBetweenAtomics) {
  const DeviceArray<int> out(1);
  hipLaunchKernelGGL(test_kernels::atomics_then_read, dim3(1), dim3(128), 4, nullptr, 99u, true, out.data());
  EXPECT_EQ(objection(), "");
  EXPECT_EQ(out.values()[0], 128);
}

TEST_F(Race, IsBetweenAnAtomicAndAnythingElse) {
  const DeviceArray<int> out(1);
  hipLaunchKernelGGL(test_kernels::atomics_then_read, dim3(1), dim3(128), 4, nullptr, 99u, false, out.data());
  EXPECT_THAT(report_of_fault(), HasSubstr("race: "));
  for (const unsigned writer : {0u, 64u, 127u}) {
    hipLaunchKernelGGL(test_kernels::atomics_and_write, dim3(1), dim3(128), 4, nullptr, writer);
    EXPECT_THAT(report_of_fault(), HasSubstr("race: ")) << writer;
  }
}

TEST_F(Race, IsSeenInEveryOrderOfTheLanes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    set_settings({.threads = 1, .schedule_seed = seed});
    run(test_kernels::neighbour_after_nothing, 64);
    EXPECT_THAT(report_of_fault(), HasSubstr("race: ")) << "seed " << seed;
    run(test_kernels::neighbour_after_barrier, 64);
    EXPECT_EQ(objection(), "") << "seed " << seed;
  }
}

// In its build the emulator tells ThreadSanitizer where lanes are ordered, and it finds what is not.
TEST(RaceDeathTest, IsSeenByThreadSanitizer) {
  if (!kThreadSanitizer) GTEST_SKIP() << "not a build with ThreadSanitizer";
  const auto run = [](void (*kernel)(unsigned, int*), unsigned distance) {
    int* out = nullptr;
    if (hipMalloc(&out, 128 * sizeof(int)) != hipSuccess) std::exit(1);
    hipLaunchKernelGGL(kernel, dim3(1), dim3(128), 512, nullptr, distance, out);
    std::exit(objection().empty() ? 0 : 1);
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const unsigned distance : {64u, 1u}) {
    EXPECT_EXIT(run(test_kernels::neighbour_after_nothing, distance), testing::ExitedWithCode(66),
                "data race");
    EXPECT_EXIT(run(test_kernels::neighbour_after_barrier, distance), testing::ExitedWithCode(0), "");
  }
  EXPECT_EXIT(run(test_kernels::neighbour_after_shuffle, 64), testing::ExitedWithCode(66), "data race");
}

}  // namespace
}  // namespace fmha_bwd
