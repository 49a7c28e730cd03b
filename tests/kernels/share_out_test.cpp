// How the hopper family shares out its tiles of keys: plain arithmetic, no device.
#include <gtest/gtest.h>

#define FMHA_BWD_PLATFORM nvidia
#include "kernels/hopper/share_out.h"

namespace fmha_bwd::nvidia::hopper {
namespace {

constexpr std::int64_t kProcessors = 132;

TEST(ShareOut, LeavesWholeWavesAlone) {
  const ShareOut share = share_out(3 * kProcessors, 256, kProcessors);
  EXPECT_EQ(share.owned, 3 * kProcessors);
  EXPECT_EQ(share.shared, 0);
  EXPECT_EQ(share.walks(), 3 * kProcessors);
}

TEST(ShareOut, SharesTheTilesOfAHalfEmptyLastWave) {
  // 2048 tiles are 15 waves and 68 tiles. In 7 parts each those are 476 blocks, 4 rounds of at most 37 tiles
  // and a start: 4 * (37 + 5) = 168 tiles' time, where unshared it is 256 + 5.
  const ShareOut share = share_out(2048, 256, kProcessors);
  EXPECT_EQ(share.owned, 15 * kProcessors);
  EXPECT_EQ(share.shared, 68);
  EXPECT_EQ(share.parts, 7);
  EXPECT_EQ(share.walks(), 15 * kProcessors + 68 * 7);
  const auto rounds = [&](std::int64_t parts) {
    return (68 * parts + kProcessors - 1) / kProcessors * ((256 + parts - 1) / parts + 5);
  };
  for (std::int64_t parts = 1; parts <= 16; ++parts) EXPECT_LE(rounds(share.parts), rounds(parts)) << parts;
}

TEST(ShareOut, DoesNotShareWalksThatAreAsShortAsABlocksStart) {
  EXPECT_EQ(share_out(2048, 4, kProcessors).parts, 1);
  EXPECT_EQ(share_out(2048, 1, kProcessors).walks(), 2048);
}

TEST(ShareOut, GivesASmallProblemMoreBlocks) {
  const ShareOut share = share_out(4, 64, kProcessors);
  EXPECT_EQ(share.owned, 0);
  EXPECT_EQ(share.shared, 4);
  EXPECT_EQ(share.parts, 16);
}

TEST(ShareOut, NeverMakesMorePartsThanThereAreTilesToVisit) {
  for (std::int64_t walk = 1; walk < 40; ++walk) {
    for (std::int64_t tiles = 1; tiles < 300; ++tiles) {
      const ShareOut share = share_out(tiles, walk, kProcessors);
      EXPECT_LE(share.parts, walk);
      EXPECT_EQ(share.owned + share.shared, tiles);
      EXPECT_LT(share.shared, kProcessors);
    }
  }
}

TEST(ShareOut, OfWalksOfDifferentLengthsIsForProblemsOfOneWaveOnly) {
  const ShareOut waves = share_out(2048, 64, kProcessors);
  ASSERT_GT(waves.parts, 1);
  EXPECT_EQ(for_walks(waves, true).walks(), waves.walks());
  EXPECT_EQ(for_walks(waves, false).walks(), 2048);
  EXPECT_EQ(for_walks(waves, false).owned, 2048);
  const ShareOut small = share_out(32, 64, kProcessors);
  EXPECT_EQ(for_walks(small, false).walks(), small.walks());
}

}  // namespace
}  // namespace fmha_bwd::nvidia::hopper
