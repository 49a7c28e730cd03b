// Stages 1 and 3 as errands of stage 2: each tile of queries once, and in time.
#define FMHA_BWD_PLATFORM nvidia
#include "kernels/hopper/errand_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fmha_bwd::nvidia::hopper {
namespace {

constexpr int kProcessors = 132;

/// A walk as it is taken: over a tile of keys of `key_head`, or of errands where that is -1.
struct Taken {
  int key_head = -1;
  ErrandPlan::Span prepares = {0, 0};
  ErrandPlan::Span converts = {0, 0};
};

/// All walks in the order that they are taken in, as plan.h writes them down for tiles of keys that nobody
/// shares.
std::vector<Taken> walks_of(const ErrandPlan& plan, int key_heads, int key_tiles, int alternating) {
  std::vector<Taken> walks;
  for (int i = 0; i < plan.ends; ++i) walks.push_back({-1, plan.to_prepare_first(i), {0, 0}});
  const int key_walks = key_heads * key_tiles;
  for (int n = 0; n < key_walks; ++n) {
    const int first_head = n / (key_tiles * alternating) * alternating;
    const int heads = std::min(alternating, key_heads - first_head);
    walks.push_back({first_head + (n - first_head * key_tiles) % heads, {0, 0}, {0, 0}});
    const int end = n + 1;
    if (end % plan.every != 0 && end != key_walks) continue;
    const int begin = n / plan.every * plan.every;
    walks.push_back({-1, plan.to_prepare(begin, end), plan.to_convert(begin, end)});
  }
  for (int i = 0; i < plan.ends; ++i) walks.push_back({-1, {0, 0}, plan.to_convert_last(i)});
  return walks;
}

struct Shape {
  int key_heads;
  int head_tiles;
  int key_tiles;
  int alternating;
};

class ErrandPlanOf : public testing::TestWithParam<Shape> {
 protected:
  const Shape& shape() const { return GetParam(); }
  ErrandPlan plan() const {
    return errand_plan(shape().key_heads, shape().head_tiles, shape().key_tiles, 1, shape().alternating,
                       kProcessors);
  }
  std::vector<Taken> walks() const {
    return walks_of(plan(), shape().key_heads, shape().key_tiles, shape().alternating);
  }
  int tiles() const { return shape().key_heads * shape().head_tiles; }
};

TEST_P(ErrandPlanOf, PreparesAndConvertsEachTileOnce) {
  std::vector<int> prepared(static_cast<std::size_t>(tiles()));
  std::vector<int> converted(prepared.size());
  for (const Taken& walk : walks()) {
    for (int i = walk.prepares.begin; i < walk.prepares.end; ++i) ++prepared.at(static_cast<std::size_t>(i));
    for (int i = walk.converts.begin; i < walk.converts.end; ++i) ++converted.at(static_cast<std::size_t>(i));
  }
  EXPECT_EQ(prepared, std::vector<int>(prepared.size(), 1));
  EXPECT_EQ(converted, std::vector<int>(converted.size(), 1));
}

TEST_P(ErrandPlanOf, PreparesAHeadBeforeItsFirstWalkAndConvertsItAfterItsLast) {
  const auto heads = static_cast<std::size_t>(shape().key_heads);
  std::vector<int> prepared(heads);
  std::vector<int> visited(heads);
  const auto head_of = [&](int tile) { return static_cast<std::size_t>(tile / shape().head_tiles); };
  for (const Taken& walk : walks()) {
    for (int i = walk.prepares.begin; i < walk.prepares.end; ++i) ++prepared[head_of(i)];
    for (int i = walk.converts.begin; i < walk.converts.end; ++i) {
      ASSERT_EQ(visited[head_of(i)], shape().key_tiles) << "tile " << i;
    }
    if (walk.key_head < 0) continue;
    const auto head = static_cast<std::size_t>(walk.key_head);
    ASSERT_EQ(prepared[head], shape().head_tiles) << "head " << head;
    ++visited[head];
  }
}

TEST_P(ErrandPlanOf, CountsTheWalksOfErrandsThatThereAre) {
  const int key_walks = shape().key_heads * shape().key_tiles;
  EXPECT_EQ(static_cast<int>(walks().size()), key_walks + plan().between(key_walks) + 2 * plan().ends);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ErrandPlanOf,
                         testing::Values(Shape{512, 8, 4, 1}, Shape{512, 8, 4, 66}, Shape{16, 256, 128, 1},
                                         Shape{16, 256, 128, 2}, Shape{2, 2048, 128, 2}, Shape{1, 8, 1, 1},
                                         Shape{7, 8, 3, 5}, Shape{4096, 1, 1, 264}, Shape{100, 256, 1, 1},
                                         Shape{100, 1, 256, 1}, Shape{3, 40, 0, 1}));

TEST(ErrandPlan, PreparesTwoWavesAheadOfTheWalksThatWait) {
  const ErrandPlan plan = errand_plan(512, 8, 4, 1, 1, kProcessors);
  EXPECT_EQ(plan.every, 8);  // 16 tiles prepared and 16 converted, 2 for each walk
  EXPECT_EQ(plan.ahead, 8 + 2 * (2 * kProcessors + 8));
}

TEST(ErrandPlan, IsNoneWithoutTiles) {
  const ErrandPlan none;
  EXPECT_EQ(none.between(100), 0);
  EXPECT_EQ(none.ends, 0);
}

TEST(ErrandPlan, CountsAPlaceForEachPartOfASharedTile) {
  // A walk over a tile of keys is four places, or each of the walks that share it is one.
  const ErrandPlan plan = errand_plan(16, 64, 16, 4, 1, 2);
  EXPECT_EQ(plan.head_places, 64);
  EXPECT_EQ(plan.ahead, 64 + 4 * (2 * 2 + 4));
  EXPECT_EQ(plan.prepared_before(4), plan.ahead + 4);
  EXPECT_EQ(plan.prepared_before(5), plan.ahead + 5);
  EXPECT_EQ(plan.converted_before(plan.places), 16 * 64 - plan.ahead);
}

}  // namespace
}  // namespace fmha_bwd::nvidia::hopper
