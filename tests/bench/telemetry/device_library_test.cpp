#include "bench/telemetry/device_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace fmha_bwd {
namespace {

using ::testing::HasSubstr;

TEST(DeviceLibraryTest, CallsAFunctionOfTheLibrary) {
  const DeviceLibrary library(std::array<std::string, 1>{FAKE_NVML});
  ASSERT_TRUE(library.loaded()) << library.error();
  auto* text = library.function<const char*(int)>("nvmlErrorString");
  ASSERT_TRUE(text);
  EXPECT_STREQ(text(6), "Not Found");
}

TEST(DeviceLibraryTest, HasNoFunctionThatTheLibraryLacks) {
  const DeviceLibrary library(std::array<std::string, 1>{FAKE_NVML});
  EXPECT_EQ(library.function<void()>("nvmlNoSuchFunction"), nullptr);
}

TEST(DeviceLibraryTest, TakesTheFirstThatCanBeLoaded) {
  const DeviceLibrary library(std::array<std::string, 2>{"/nowhere/first.so", FAKE_NVML});
  EXPECT_TRUE(library.loaded());
  EXPECT_EQ(library.error(), "");
}

TEST(DeviceLibraryTest, SaysWhyTheFirstWasNotLoaded) {
  const DeviceLibrary library(std::array<std::string, 2>{"/nowhere/first.so", "/nowhere/second.so"});
  EXPECT_FALSE(library.loaded());
  EXPECT_THAT(library.error(), HasSubstr("/nowhere/first.so"));
  EXPECT_EQ(library.function<void()>("nvmlInit_v2"), nullptr);
}

}  // namespace
}  // namespace fmha_bwd
