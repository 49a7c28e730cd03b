#include "base/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/mask_spec.h"

namespace fmha_bwd {
namespace {

/// A truth table drawn by hand: a line is a query, an x a key that it sees.
using Picture = std::vector<std::string>;

struct Drawn {
  std::string name;
  Picture picture;
  MaskSpec spec = masks_from(name).front();

  std::int64_t seqlen_q() const { return static_cast<std::int64_t>(picture.size()); }
  std::int64_t seqlen_k() const { return static_cast<std::int64_t>(picture.front().size()); }
  Mask mask() const { return {spec.rule(), seqlen_q(), seqlen_k()}; }
  bool sees(std::int64_t query, std::int64_t key) const {
    return picture.at(static_cast<std::size_t>(query)).at(static_cast<std::size_t>(key)) == 'x';
  }
};

std::ostream& operator<<(std::ostream& out, const Drawn& drawn) {
  return out << drawn.name << ' ' << drawn.seqlen_q() << " x " << drawn.seqlen_k();
}

const std::vector<Drawn> kDrawings = {
    {"no_mask",
     {
         "xxx",
         "xxx",
     }},
    {"no_mask", {"x"}},
    {"no_mask",
     {
         "x",
         "x",
         "x",
     }},
    {"no_mask", {"xxxx"}},

    {"top_left",
     {
         "x...",
         "xx..",
         "xxx.",
         "xxxx",
     }},
    {"top_left",
     {
         "x.....",
         "xx....",
         "xxx...",
     }},
    {"top_left",
     {
         "x..",
         "xx.",
         "xxx",
         "xxx",
         "xxx",
     }},
    {"top_left", {"x"}},
    {"top_left", {"x...."}},
    {"top_left",
     {
         "x",
         "x",
         "x",
     }},

    {"bottom_right",
     {
         "x...",
         "xx..",
         "xxx.",
         "xxxx",
     }},
    {"bottom_right",
     {
         "xxxx..",
         "xxxxx.",
         "xxxxxx",
     }},
    {"bottom_right",
     {
         "...",
         "...",
         "x..",
         "xx.",
         "xxx",
     }},
    {"bottom_right", {"x"}},
    {"bottom_right", {"xxxxx"}},
    {"bottom_right",
     {
         ".",
         ".",
         "x",
     }},

    {"top_left:1,0",
     {
         "x...",
         "xx..",
         ".xx.",
         "..xx",
     }},
    {"top_left:1,2",
     {
         "xxx...",
         "xxxx..",
         ".xxxx.",
     }},
    {"top_left:0,-1",
     {
         "xxxx",
         ".xxx",
         "..xx",
         "...x",
         "....",
     }},
    {"top_left:-1,1",
     {
         "xx..",
         "xxx.",
         "xxxx",
     }},
    {"bottom_right:1,0",
     {
         ".xx..",
         "..xx.",
         "...xx",
     }},
    {"bottom_right:1,1",
     {
         "...",
         "x..",
         "xx.",
         "xxx",
         ".xx",
     }},
    {"bottom_right:0,0",
     {
         "..",
         "x.",
         ".x",
     }},

    {"generic:1,1",
     {
         "x..",
         ".x.",
         "..x",
     }},
    {"generic:0,3",
     {
         ".xx.",
         "..xx",
         "...x",
     }},
    {"generic:3,0",
     {
         "....",
         "x...",
         "xx..",
         ".xx.",
     }},

    {"prefix:2",
     {
         "xx...",
         "xx...",
         "xxx..",
         "xxxx.",
     }},
    {"prefix:9",
     {
         "xxx",
         "xxx",
     }},

    {"document:2,1",
     {
         "xx....",
         "xx....",
         "..x...",
         "...xxx",
         "...xxx",
     }},
    {"document_causal:2,3",
     {
         "x.....",
         "xx....",
         "..x...",
         "..xx..",
         "..xxx.",
         ".....x",
     }},
    {"document:2,2",
     {
         "xx.",
         "xx.",
         "..x",
         "..x",
         "...",
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
  const Mask mask(kBottomRight.rule(), 128, 64);
  EXPECT_TRUE(mask.visible_keys(63).empty());
  EXPECT_EQ(mask.visible_keys(64), (Range{0, 1}));
  EXPECT_EQ(mask.visible_keys(127), (Range{0, 64}));
}

TEST(Mask, AKeyPastTheLastRowIsSeenByNone) {
  const Mask mask(kTopLeft.rule(), 384, 512);
  EXPECT_EQ(mask.visible_queries(383), (Range{383, 384}));
  EXPECT_TRUE(mask.visible_queries(384).empty());
  EXPECT_TRUE(mask.visible_queries(511).empty());
}

TEST(Mask, IsTheSameTopLeftAndBottomRightOnASquare) {
  for (std::int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(Mask(kTopLeft.rule(), 9, 9).visible_keys(i), Mask(kBottomRight.rule(), 9, 9).visible_keys(i));
  }
}

TEST(Mask, DoesNotOverflowOnLongSequences) {
  constexpr std::int64_t kLong = std::int64_t{1} << 38;
  const Mask mask(kBottomRight.rule(), kLong, kLong + 5);
  EXPECT_EQ(mask.visible_keys(kLong - 1), (Range{0, kLong + 5}));
  EXPECT_EQ(mask.visible_queries(kLong + 4), (Range{kLong - 1, kLong}));
}

TEST(Mask, DoesNotOverflowWithUnboundedWindowsOnLongSequences) {
  constexpr std::int64_t kLong = std::int64_t{1} << 38;
  const Mask mask(kNoMask.rule(), kLong, kLong);
  EXPECT_EQ(mask.visible_keys(0), (Range{0, kLong}));
  EXPECT_EQ(mask.visible_keys(kLong - 1), (Range{0, kLong}));
  EXPECT_EQ(mask.visible_queries(kLong - 1), (Range{0, kLong}));
}

TEST(Mask, CanBeEvaluatedByTheCompiler) {
  constexpr MaskRule kRule = {Alignment::top_left, 1, 0, 0, nullptr, 0};
  static_assert(Mask(kRule, 4, 4).visible_keys(2) == Range{1, 3});
  static_assert(Mask(kRule, 4, 4).visible_queries(2) == Range{2, 4});
}

TEST(Mask, OverNoQueriesOrKeysHasNoPairs) {
  for (const std::string name :
       {"n", "t", "b", "t:1,1", "b:1,1", "prefix:2", "document:2,2", "document_causal:2"}) {
    const MaskSpec spec = masks_from(name).front();
    const Mask no_keys(spec.rule(), 3, 0);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_TRUE(no_keys.visible_keys(i).empty()) << name;
    const Mask no_queries(spec.rule(), 0, 3);
    for (std::int64_t j = 0; j < 3; ++j) EXPECT_TRUE(no_queries.visible_queries(j).empty()) << name;
  }
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
