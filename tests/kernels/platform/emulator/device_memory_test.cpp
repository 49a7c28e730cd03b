// Device memory as kernels see it: its bounds, what was never written there, and what was freed.
#include <numeric>

#include "tests/kernels/platform/emulator/device_memory_kernels.h"
#include "tests/kernels/platform/emulator/emulator_test.h"

namespace fmha_bwd {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DeviceMemory : public MemoryChecks {
 protected:
  static void read(const std::byte* memory, std::ptrdiff_t offset, int bytes) {
    const DeviceArray<std::uint64_t> out(2);
    hipLaunchKernelGGL(test_kernels::read_device, dim3(1), dim3(1), 0, nullptr, memory, offset, bytes,
                       out.data());
  }
  static void write(std::byte* memory, std::ptrdiff_t offset, int bytes) {
    hipLaunchKernelGGL(test_kernels::write_device, dim3(1), dim3(1), 0, nullptr, memory, offset, bytes);
  }
  static std::vector<std::byte> some_bytes(std::size_t count) {
    return std::vector<std::byte>(count, std::byte{1});
  }
};

TEST_F(DeviceMemory, IsReadAndWrittenUpToItsLastByte) {
  const DeviceArray<std::byte> memory(some_bytes(112));
  for (const int bytes : {1, 2, 4, 8, 16}) {
    for (const std::ptrdiff_t offset : {std::ptrdiff_t{0}, std::ptrdiff_t{112 - bytes}}) {
      read(memory.data(), offset, bytes);
      EXPECT_EQ(objection(), "") << bytes;
      write(memory.data(), offset, bytes);
      EXPECT_EQ(objection(), "") << bytes;
    }
  }
}

TEST_F(DeviceMemory, EndsAfterItsLastByte) {
  const DeviceArray<std::byte> memory(some_bytes(112));
  for (const int bytes : {1, 2, 4, 8, 16}) {
    read(memory.data(), 112, bytes);
    EXPECT_THAT(report_of_fault(),
                AllOf(HasSubstr("out of bounds: read of " + std::to_string(bytes) + " byte"),
                      HasSubstr("offset 112 of a device allocation of 112 bytes")));
    write(memory.data(), 112, bytes);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("out of bounds: write of "),
                                         HasSubstr("offset 112 of a device allocation of 112 bytes")));
  }
  write(memory.data(), 112 + 4000, 4);
  EXPECT_THAT(report_of_fault(), HasSubstr("offset 4112 of a device allocation of 112 bytes"));
  hipLaunchKernelGGL(test_kernels::add_to_device, dim3(1), dim3(1), 0, nullptr, memory.data(), 112);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: atomic"));
}

TEST_F(DeviceMemory, StartsAtItsFirstByte) {
  const DeviceArray<std::byte> memory(some_bytes(112));
  for (const int bytes : {1, 2, 4, 8, 16}) {
    const std::string offset = "offset -" + std::to_string(bytes) + " of a device allocation of 112 bytes";
    read(memory.data(), -bytes, bytes);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("out of bounds: read"), HasSubstr(offset)));
    write(memory.data(), -bytes, bytes);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("out of bounds: write"), HasSubstr(offset)));
  }
}

TEST_F(DeviceMemory, MayNotBeReadAcrossItsEnd) {
  const DeviceArray<std::byte> memory(some_bytes(100));
  read(memory.data(), 96, 8);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: read of 8 bytes at offset 96"));
  write(memory.data(), 96, 8);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: write of 8 bytes at offset 96"));
  write(memory.data(), 96, 16);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: write"));
}

TEST_F(DeviceMemory, OfNoBytesHasNoPlaceForOne) {
  std::byte* nothing = nullptr;
  ASSERT_EQ(hipMalloc(&nothing, 0), hipSuccess);
  write(nothing, 0, 1);
  EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds: write"));
  EXPECT_EQ(hipFree(nothing), hipSuccess);
}

TEST_F(DeviceMemory, KeepsAWrongNeighbourOut) {
  const DeviceArray<std::byte> a(some_bytes(64));
  const DeviceArray<std::byte> b(some_bytes(64));
  for (const std::ptrdiff_t offset : {64, 128, 192, 256, -8, -64, -128}) {
    read(a.data(), offset, 8);
    EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds")) << offset;
    read(b.data(), offset, 8);
    EXPECT_THAT(report_of_fault(), HasSubstr("out of bounds")) << offset;
  }
}

TEST_F(DeviceMemory, HasNothingInItBeforeAWrite) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    const DeviceArray<std::byte> memory(64);
    read(memory.data(), 32, bytes);
    EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("nothing was written there: read of"),
                                         HasSubstr("at offset 32 of a device allocation of 64 bytes")));
    write(memory.data(), 32, bytes);
    EXPECT_EQ(objection(), "");
    read(memory.data(), 32, bytes);
    EXPECT_EQ(objection(), "") << "a kernel wrote these " << bytes;
    read(memory.data(), 16, bytes);
    EXPECT_THAT(report_of_fault(), HasSubstr("nothing was written there"));
    EXPECT_EQ(hipMemset(memory.data() + 16, 0, static_cast<std::size_t>(bytes) - 1), hipSuccess);
    read(memory.data(), 16, bytes);
    EXPECT_THAT(report_of_fault(), HasSubstr("nothing was written there")) << "all but the last byte";
  }
  const DeviceArray<std::byte> counter(4);
  hipLaunchKernelGGL(test_kernels::add_to_device, dim3(1), dim3(1), 0, nullptr, counter.data(), 0);
  EXPECT_THAT(report_of_fault(), HasSubstr("nothing was written there: atomic"));
}

TEST_F(DeviceMemory, IsFilledByCopiesAndByMemset) {
  const DeviceArray<int> out(64);
  const DeviceArray<int> set(64);
  ASSERT_EQ(hipMemset(set.data(), 0, 256), hipSuccess);
  hipLaunchKernelGGL(test_kernels::read_elements, dim3(1), dim3(64), 0, nullptr, set.data(), out.data());
  EXPECT_EQ(objection(), "");
  const DeviceArray<int> copied(64);
  ASSERT_EQ(hipMemcpy(copied.data(), set.data(), 256, hipMemcpyDeviceToDevice), hipSuccess);
  hipLaunchKernelGGL(test_kernels::read_elements, dim3(1), dim3(64), 0, nullptr, copied.data(), out.data());
  EXPECT_EQ(objection(), "");
}

TEST_F(DeviceMemory, NamesTheLaneAndTheWorkgroupThatReadsWhatNobodyWrote) {
  const DeviceArray<int> memory(256);
  const DeviceArray<int> out(256);
  hipLaunchKernelGGL(test_kernels::write_elements, dim3(4), dim3(64), 0, nullptr, memory.data(), false);
  ASSERT_EQ(objection(), "");
  hipLaunchKernelGGL(test_kernels::read_elements, dim3(4), dim3(64), 0, nullptr, memory.data(), out.data());
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("read_elements"), HasSubstr("workgroup ("),
                                       HasSubstr("lane 1: nothing was written there")));
  hipLaunchKernelGGL(test_kernels::write_elements, dim3(4), dim3(64), 0, nullptr, memory.data(), true);
  hipLaunchKernelGGL(test_kernels::read_elements, dim3(4), dim3(64), 0, nullptr, memory.data(), out.data());
  EXPECT_EQ(objection(), "");
  std::vector<int> expected(256);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(out.values(), expected);
}

TEST_F(DeviceMemory, IsNotUsedAfterItWasFreed) {
  std::byte* freed = nullptr;
  {
    const DeviceArray<std::byte> memory(some_bytes(64));
    freed = memory.data();
  }
  read(freed, 8, 4);
  EXPECT_THAT(report_of_fault(), AllOf(HasSubstr("use after free: read of 4 bytes"), HasSubstr("offset 8")));
  write(freed, 0, 4);
  EXPECT_THAT(report_of_fault(), HasSubstr("use after free: write of 4 bytes"));
  // Not even where the program has allocated again since.
  const DeviceArray<std::byte> later(some_bytes(64));
  read(freed, 8, 4);
  EXPECT_THAT(report_of_fault(), HasSubstr("use after free"));
}

TEST_F(DeviceMemory, IsFreshAgainEveryTime) {
  for (int i = 0; i < 100; ++i) {
    const DeviceArray<std::byte> memory(4096);
    read(memory.data(), 100, 4);
    EXPECT_THAT(report_of_fault(), HasSubstr("nothing was written there"));
    write(memory.data(), 100, 4);
    EXPECT_EQ(objection(), "");
  }
}

}  // namespace
}  // namespace fmha_bwd
