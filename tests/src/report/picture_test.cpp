#include "src/report/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fmha_bwd {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(MaskPicture, OfNoMaskIsFull) {
  EXPECT_THAT(mask_picture(Mask(MaskKind::no_mask, 2, 3), 8, 8), ElementsAre("█ █ █", "█ █ █"));
}

TEST(MaskPicture, OfTopLeftStartsAtTheFirstKey) {
  EXPECT_THAT(mask_picture(Mask(MaskKind::top_left, 4, 3), 8, 8),
              ElementsAre("█ · ·", "█ █ ·", "█ █ █", "█ █ █"));
}

TEST(MaskPicture, OfBottomRightEndsAtTheLastKey) {
  EXPECT_THAT(mask_picture(Mask(MaskKind::bottom_right, 4, 3), 8, 8),
              ElementsAre("· · ·", "█ · ·", "█ █ ·", "█ █ █"));
  EXPECT_THAT(mask_picture(Mask(MaskKind::bottom_right, 2, 4), 8, 8), ElementsAre("█ █ █ ·", "█ █ █ █"));
}

TEST(MaskPicture, ShowsOnlyTheCorner) {
  const std::vector<std::string> picture = mask_picture(Mask(MaskKind::top_left, 1000, 2000), 2, 3);
  EXPECT_THAT(picture, ElementsAre("█ · ·", "█ █ ·"));
  EXPECT_THAT(mask_picture(Mask(MaskKind::no_mask, 1000, 2000), 8, 8), SizeIs(8));
}

}  // namespace
}  // namespace fmha_bwd
