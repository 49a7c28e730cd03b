#include "base/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fmha_bwd {
namespace {

/// A truth table drawn by hand: a line is a query, an x a key that it sees.
using Picture = std::vector<std::string>;

struct Drawn {
  MaskKind kind;
  Picture picture;

  std::int64_t seqlen_q() const { return static_cast<std::int64_t>(picture.size()); }
  std::int64_t seqlen_k() const { return static_cast<std::int64_t>(picture.front().size()); }
  Mask mask() const { return {kind, seqlen_q(), seqlen_k()}; }
  bool sees(std::int64_t query, std::int64_t key) const { return picture[query][key] == 'x'; }
};

std::ostream& operator<<(std::ostream& out, const Drawn& drawn) {
  return out << name_of(drawn.kind) << ' ' << drawn.seqlen_q() << " x " << drawn.seqlen_k();
}

const std::vector<Drawn> kDrawings = {
    {MaskKind::no_mask,
     {
         "xxx",
         "xxx",
     }},
    {MaskKind::no_mask, {"x"}},
    {MaskKind::no_mask,
     {
         "x",
         "x",
         "x",
     }},
    {MaskKind::no_mask, {"xxxx"}},

    {MaskKind::top_left,
     {
         "x...",
         "xx..",
         "xxx.",
         "xxxx",
     }},
    {MaskKind::top_left,
     {
         "x.....",
         "xx....",
         "xxx...",
     }},
    {MaskKind::top_left,
     {
         "x..",
         "xx.",
         "xxx",
         "xxx",
         "xxx",
     }},
    {MaskKind::top_left, {"x"}},
    {MaskKind::top_left, {"x...."}},
    {MaskKind::top_left,
     {
         "x",
         "x",
         "x",
     }},

    {MaskKind::bottom_right,
     {
         "x...",
         "xx..",
         "xxx.",
         "xxxx",
     }},
    {MaskKind::bottom_right,
     {
         "xxxx..",
         "xxxxx.",
         "xxxxxx",
     }},
    {MaskKind::bottom_right,
     {
         "...",
         "...",
         "x..",
         "xx.",
         "xxx",
     }},
    {MaskKind::bottom_right, {"x"}},
    {MaskKind::bottom_right, {"xxxxx"}},
    {MaskKind::bottom_right,
     {
         ".",
         ".",
         "x",
     }},
};

class DrawnMask : public ::testing::TestWithParam<Drawn> {};
INSTANTIATE_TEST_SUITE_P(Mask, DrawnMask, ::testing::ValuesIn(kDrawings));

TEST_P(DrawnMask, SeesThePairsOfThePicture) {
  const Drawn& drawn = GetParam();
  for (std::int64_t i = 0; i < drawn.seqlen_q(); ++i) {
    for (std::int64_t j = 0; j < drawn.seqlen_k(); ++j) {
      EXPECT_EQ(drawn.mask().visible(i, j), drawn.sees(i, j)) << "query " << i << ", key " << j;
    }
  }
}

TEST_P(DrawnMask, GivesEachQueryTheKeysOfItsLine) {
  const Drawn& drawn = GetParam();
  for (std::int64_t i = 0; i < drawn.seqlen_q(); ++i) {
    const Range keys = drawn.mask().visible_keys(i);
    EXPECT_GE(keys.begin, 0);
    EXPECT_LE(keys.end, drawn.seqlen_k());
    for (std::int64_t j = 0; j < drawn.seqlen_k(); ++j) {
      EXPECT_EQ(keys.contains(j), drawn.sees(i, j)) << "query " << i << ", key " << j;
    }
  }
}

TEST_P(DrawnMask, GivesEachKeyTheQueriesOfItsColumn) {
  const Drawn& drawn = GetParam();
  for (std::int64_t j = 0; j < drawn.seqlen_k(); ++j) {
    const Range queries = drawn.mask().visible_queries(j);
    EXPECT_GE(queries.begin, 0);
    EXPECT_LE(queries.end, drawn.seqlen_q());
    for (std::int64_t i = 0; i < drawn.seqlen_q(); ++i) {
      EXPECT_EQ(queries.contains(i), drawn.sees(i, j)) << "query " << i << ", key " << j;
    }
  }
}

TEST_P(DrawnMask, GivesATileOfQueriesTheKeysThatAnyOfThemSees) {
  const Drawn& drawn = GetParam();
  for (std::int64_t begin = 0; begin < drawn.seqlen_q(); ++begin) {
    for (std::int64_t end = begin + 1; end <= drawn.seqlen_q(); ++end) {
      const Range keys = drawn.mask().keys_of({begin, end});
      for (std::int64_t j = 0; j < drawn.seqlen_k(); ++j) {
        bool any = false;
        for (std::int64_t i = begin; i < end; ++i) any = any || drawn.sees(i, j);
        EXPECT_EQ(keys.contains(j), any) << "queries " << begin << ".." << end << ", key " << j;
      }
    }
  }
}

TEST_P(DrawnMask, GivesATileOfKeysTheQueriesThatSeeAnyOfThem) {
  const Drawn& drawn = GetParam();
  for (std::int64_t begin = 0; begin < drawn.seqlen_k(); ++begin) {
    for (std::int64_t end = begin + 1; end <= drawn.seqlen_k(); ++end) {
      const Range queries = drawn.mask().queries_of({begin, end});
      for (std::int64_t i = 0; i < drawn.seqlen_q(); ++i) {
        bool any = false;
        for (std::int64_t j = begin; j < end; ++j) any = any || drawn.sees(i, j);
        EXPECT_EQ(queries.contains(i), any) << "keys " << begin << ".." << end << ", query " << i;
      }
    }
  }
}

TEST(Mask, ARowBeforeTheFirstKeySeesNoKey) {
  const Mask mask(MaskKind::bottom_right, 128, 64);
  EXPECT_TRUE(mask.visible_keys(63).empty());
  EXPECT_EQ(mask.visible_keys(64), (Range{0, 1}));
  EXPECT_EQ(mask.visible_keys(127), (Range{0, 64}));
}

TEST(Mask, AKeyPastTheLastRowIsSeenByNone) {
  const Mask mask(MaskKind::top_left, 384, 512);
  EXPECT_EQ(mask.visible_queries(383), (Range{383, 384}));
  EXPECT_TRUE(mask.visible_queries(384).empty());
  EXPECT_TRUE(mask.visible_queries(511).empty());
}

TEST(Mask, IsTheSameTopLeftAndBottomRightOnASquare) {
  for (std::int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(Mask(MaskKind::top_left, 9, 9).visible_keys(i),
              Mask(MaskKind::bottom_right, 9, 9).visible_keys(i));
  }
}

TEST(Mask, MovesItsDiagonalWhenShifted) {
  const Mask mask = Mask(MaskKind::top_left, 4, 4).shifted(1);
  EXPECT_EQ(mask.visible_keys(0), (Range{0, 2}));
  EXPECT_EQ(mask.visible_keys(3), (Range{0, 4}));
  EXPECT_TRUE(Mask(MaskKind::top_left, 4, 4).shifted(-1).visible_keys(0).empty());
}

TEST(Mask, DoesNotOverflowOnLongSequences) {
  constexpr std::int64_t kLong = std::int64_t{1} << 40;
  const Mask mask(MaskKind::bottom_right, kLong, kLong + 5);
  EXPECT_EQ(mask.visible_keys(kLong - 1), (Range{0, kLong + 5}));
  EXPECT_EQ(mask.visible_queries(kLong + 4), (Range{kLong - 1, kLong}));
}

TEST(Mask, IsFoundByItsName) {
  for (const MaskKind kind : kAllMaskKinds) EXPECT_EQ(mask_kind_named(name_of(kind)), kind);
  EXPECT_EQ(name_of(MaskKind::bottom_right), "bottom_right");
  EXPECT_EQ(mask_kind_named("nope"), std::nullopt);
  EXPECT_EQ(mask_kind_named(""), std::nullopt);
}

TEST(Range, ThatEndsBeforeItBeginsIsEmpty) {
  EXPECT_TRUE((Range{5, 3}.empty()));
  EXPECT_EQ((Range{5, 3}.size()), 0);
  EXPECT_FALSE((Range{5, 3}.contains(4)));
  EXPECT_EQ((Range{3, 5}.size()), 2);
  EXPECT_FALSE((Range{3, 5}.contains(5)));
}

}  // namespace
}  // namespace fmha_bwd
