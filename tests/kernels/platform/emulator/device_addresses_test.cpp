// Where device memory gives out addresses.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/platform/emulator/device_memory.h"

namespace hip_emulator {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

TEST(DeviceAddresses, OfFreedMemoryComeBackOnlyWhenAllOthersWereUsed) {
  DeviceMemory memory(16 * kMebibyte);
  void* const first = memory.allocate(kMebibyte);
  ASSERT_TRUE(memory.free(first));
  int others = 0;
  for (void* next = memory.allocate(kMebibyte); next != first; next = memory.allocate(kMebibyte)) {
    ASSERT_NE(next, nullptr);
    ASSERT_TRUE(memory.free(next));
    ASSERT_LT(++others, 100);
  }
  EXPECT_GE(others, 30);  // of 2 MiB each, with the gap after it, in 64 MiB
  EXPECT_EQ(memory.free_bytes(), 15 * kMebibyte);
}

TEST(DeviceAddresses, AreNeverOfTwoAllocations) {
  DeviceMemory memory(16 * kMebibyte);
  std::vector<void*> lasting;
  for (std::size_t i = 0; i < 200; ++i) {
    void* const pointer = memory.allocate(i % 7 * 100'000);
    ASSERT_NE(pointer, nullptr);
    for (const void* other : lasting) {
      ASSERT_GE(
          number(pointer) > number(other) ? number(pointer) - number(other) : number(other) - number(pointer),
          kMebibyte);
    }
    if (i % 20 == 0) {
      lasting.push_back(pointer);
    } else {
      ASSERT_TRUE(memory.free(pointer));
    }
  }
  for (void* pointer : lasting) EXPECT_TRUE(memory.free(pointer));
  EXPECT_EQ(memory.free_bytes(), memory.total_bytes());
}

TEST(DeviceAddresses, AreRefusedBeyondTheTotal) {
  DeviceMemory memory(16 * kMebibyte);
  EXPECT_EQ(memory.allocate(16 * kMebibyte + 1), nullptr);
  EXPECT_EQ(memory.allocate(~std::size_t{0}), nullptr);
  void* const most = memory.allocate(10 * kMebibyte);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(memory.allocate(7 * kMebibyte), nullptr);
  EXPECT_TRUE(memory.contains(most, 10 * kMebibyte));
  EXPECT_FALSE(memory.contains(most, 10 * kMebibyte + 1));
  EXPECT_FALSE(memory.contains(static_cast<std::byte*>(most) - 1, 1));
  EXPECT_TRUE(memory.free(most));
  EXPECT_FALSE(memory.contains(most, 1));
  EXPECT_FALSE(memory.free(most));
}

TEST(DeviceAddresses, KnowOfACopyAsMuchAsOfItsSource) {
  DeviceMemory memory(16 * kMebibyte);
  void* const from = memory.allocate(8);
  void* const to = memory.allocate(8);
  memory.set(from, 0, 4);
  memory.set(to, 0, 8);
  EXPECT_EQ(memory.touch(number(to), 8, Access::read), Fault::none);
  memory.copy(to, from, 8);
  EXPECT_EQ(memory.touch(number(to), 4, Access::read), Fault::none);
  EXPECT_EQ(memory.touch(number(to) + 4, 4, Access::read), Fault::unwritten);
  EXPECT_EQ(memory.touch(number(to) + 8, 1, Access::write), Fault::out_of_bounds);
}

}  // namespace
}  // namespace hip_emulator
