#include "src/terminal.h"

#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

TEST(Colour, IsWantedOnATerminal) { EXPECT_TRUE(colour_wanted(true, nullptr, "xterm-256color")); }

TEST(Colour, IsNotWantedInAFile) { EXPECT_FALSE(colour_wanted(false, nullptr, "xterm-256color")); }

TEST(Colour, IsNotWantedWhereNoColorIsSetToAnything) {
  EXPECT_FALSE(colour_wanted(true, "1", "xterm"));
  EXPECT_FALSE(colour_wanted(true, "0", "xterm"));
  EXPECT_TRUE(colour_wanted(true, "", "xterm"));
}

TEST(Colour, IsNotWantedOnATerminalThatCannot) {
  EXPECT_FALSE(colour_wanted(true, nullptr, "dumb"));
  EXPECT_FALSE(colour_wanted(true, nullptr, nullptr));
}

}  // namespace
}  // namespace fmha_bwd
