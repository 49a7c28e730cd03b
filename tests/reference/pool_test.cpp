#include "reference/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

#include "reference/parallel.h"

namespace fmha_bwd {
namespace {

/// A tool with a number.
struct Tool {
  int number = 0;
  int uses = 0;
};

/// Makes tools 0, 1, ...
class Made {
 public:
  Pool<Tool> pool{[this] { return std::make_unique<Tool>(Tool{made++}); }};
  std::atomic<int> made = 0;
};

TEST(Pool, MakesNothingBeforeItIsAsked) {
  Made of;
  EXPECT_EQ(of.made, 0);
}

TEST(Pool, HandsBackWhatWasReturned) {
  Made of;
  for (int use = 1; use <= 5; ++use) {
    const auto tool = of.pool.take();
    EXPECT_EQ(tool->number, 0);
    EXPECT_EQ(++tool->uses, use);
  }
  EXPECT_EQ(of.made, 1);
}

TEST(Pool, MakesAsManyAsAreInUseAtOnce) {
  Made of;
  {
    const auto first = of.pool.take();
    const auto second = of.pool.take();
    const auto third = of.pool.take();
    EXPECT_EQ((std::set<int>{first->number, second->number, third->number}), (std::set<int>{0, 1, 2}));
  }
  {
    const auto first = of.pool.take();
    const auto second = of.pool.take();
    EXPECT_NE(first->number, second->number);
  }
  EXPECT_EQ(of.made, 3);
}

TEST(Pool, OfToolsThatCannotBeMadeThrowsAndGoesOn) {
  bool fails = true;
  int made = 0;
  Pool<Tool> pool([&] {
    if (fails) throw std::runtime_error("no tool");
    return std::make_unique<Tool>(Tool{made++});
  });
  EXPECT_THROW(pool.take(), std::runtime_error);
  fails = false;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.take()->number, 0);
  EXPECT_EQ(made, 1);
}

TEST(Pool, NeverGivesAToolToTwoThreads) {
  Made of;
  std::mutex mutex;
  std::set<int> in_use;
  std::size_t most = 0;
  parallel_for(20'000,
               [&](std::int64_t) {
                 const auto tool = of.pool.take();
                 {
                   const std::lock_guard lock(mutex);
                   ASSERT_TRUE(in_use.insert(tool->number).second);
                   most = std::max(most, in_use.size());
                 }
                 const std::lock_guard lock(mutex);
                 in_use.erase(tool->number);
               },
               {.threads = 4});
  EXPECT_GE(of.made, static_cast<int>(most));
  EXPECT_LE(of.made, 4);
}

}  // namespace
}  // namespace fmha_bwd
