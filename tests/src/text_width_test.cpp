#include "src/text_width.h"

#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

TEST(DisplayWidth, CountsCharactersAndNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("dQ"), 2U);
  EXPECT_EQ(display_width("‖dQ‖₂"), 5U);
  EXPECT_EQ(display_width("█ · █"), 5U);
}

TEST(DisplayWidth, KnowsWideAndCombiningCharacters) {
  EXPECT_EQ(display_width("注意"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("🚀"), 2U);
}

TEST(DisplayWidth, CountsEachMalformedByteAsOne) {
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
  EXPECT_EQ(display_width("a\xe2\x96"), 3U);
}

TEST(Truncated, KeepsWholeCharacters) {
  EXPECT_EQ(truncated("‖dQ‖", 3), "‖dQ");
  EXPECT_EQ(truncated("注意", 3), "注");
  EXPECT_EQ(truncated("short", 80), "short");
  EXPECT_EQ(truncated("short", 0), "");
}

}  // namespace
}  // namespace fmha_bwd
