#include "reference/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fmha_bwd {
namespace {

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for(1000, [&](std::int64_t i) { ++calls[i]; }, {threads, {}});
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, OfNothingReturns) {
  parallel_for(0, [](std::int64_t) { FAIL(); });
  parallel_for(-1, [](std::int64_t) { FAIL(); });
}

TEST(ParallelFor, RunsOnTheThreadsAskedFor) {
  // Every turn waits until all three have begun: fewer than three threads would never end.
  std::atomic<int> begun = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  parallel_for(3,
               [&](std::int64_t) {
                 ++begun;
                 while (begun < 3) std::this_thread::yield();
                 const std::lock_guard lock(mutex);
                 threads.insert(std::this_thread::get_id());
               },
               {3, {}});
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

TEST(ParallelFor, ThrowsWhatATurnThrewAndStartsNoMore) {
  for (const int threads : {1, 4}) {
    std::atomic<int> calls = 0;
    const auto body = [&](std::int64_t i) {
      ++calls;
      if (i == 5) throw std::runtime_error("turn 5");
      if (i > 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    try {
      parallel_for(100'000, body, {threads, {}});
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "turn 5");
    }
    EXPECT_LT(calls, 100'000);
  }
}

TEST(ParallelFor, TellsARisingProgressOnTheCallingThread) {
  for (const int threads : {1, 3}) {
    std::vector<double> told;
    const auto caller = std::this_thread::get_id();
    const auto progress = [&](double share) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      told.push_back(share);
    };
    parallel_for(50, [](std::int64_t) {}, {threads, progress});
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_GT(told.front(), 0.0);
    EXPECT_EQ(told.back(), 1.0);
  }
}

TEST(ParallelFor, APartTellsItsShareOfTheWhole) {
  std::vector<double> told;
  const Workers whole{2, [&](double share) { told.push_back(share); }};
  const Workers part = part_of(whole, 0.5, 0.75);
  part.progress(0.0);
  part.progress(0.4);
  part.progress(1.0);
  EXPECT_THAT(told, ::testing::ElementsAre(0.5, 0.6, 0.75));
  EXPECT_EQ(part.threads, 2);
  EXPECT_FALSE(part_of(Workers{}, 0.0, 0.5).progress);
}

}  // namespace
}  // namespace fmha_bwd
