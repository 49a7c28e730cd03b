#include "src/version.h"

#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

TEST(VersionText, ListsEachPlatformWithItsArchitectures) {
  const std::vector<Platform> platforms = {{"nvidia", {"sm_80", "sm_90a"}, {}, "no device"},
                                           {"emulator", {"gfx942"}, {}, ""}};
  EXPECT_EQ(version_text(platforms), "fmha_bwd " + std::string(version()) +
                                         "\n"
                                         "  nvidia    sm_80 sm_90a\n"
                                         "  emulator  gfx942\n");
}

}  // namespace
}  // namespace fmha_bwd
