#include "src/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <sstream>
#include <thread>

#include "src/text_width.h"

namespace fmha_bwd {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(ProgressLine, ShowsStepLabelBarShareAndTime) {
  const ProgressState state{2, 3, "top_left: reference", 0.5, std::chrono::seconds(12)};
  EXPECT_EQ(progress_line(state, 80), "[2/3] top_left: reference  ━━━━━━━━━━━━────────────  50%  12 s");
}

TEST(ProgressLine, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_line({1, 0, "inputs", std::nullopt, std::chrono::seconds(3)}, 80), "inputs  3 s");
}

TEST(ProgressLine, ShrinksTheBarAndThenTheTextToTheWidth) {
  const ProgressState state{2, 3, "bottom_right: reference", 0.25, std::chrono::seconds(7)};
  for (const int width : {60, 50, 45, 40, 20, 5, 0}) {
    EXPECT_LE(display_width(progress_line(state, width)), static_cast<std::size_t>(width));
  }
}

TEST(ProgressLine, KeepsTheShareBetweenZeroAndAHundred) {
  const auto line = [](double fraction) {
    return progress_line({1, 1, "x", fraction, std::chrono::seconds(1)}, 80);
  };
  EXPECT_THAT(line(-1.0), HasSubstr("  0%"));
  EXPECT_THAT(line(7.0), HasSubstr("100%"));
  EXPECT_THAT(line(std::numeric_limits<double>::quiet_NaN()), HasSubstr("  0%"));
}

/// A stream's buffer that the drawing thread may write to while the test looks.
class Sink : public std::stringbuf {
 public:
  bool flushed() const { return flushes_ > 0; }

 private:
  int sync() override {
    ++flushes_;
    return 0;
  }
  std::atomic<int> flushes_ = 0;
};

TEST(Progress, ErasesWhatItDrew) {
  Sink sink;
  std::ostream out(&sink);
  {
    Progress progress({.out = &out, .delay = std::chrono::milliseconds(0)});
    progress.expect(1);
    progress.step("no_mask: reference");
    progress.update(0.5);
    while (!sink.flushed()) std::this_thread::yield();
  }
  EXPECT_THAT(sink.str(), EndsWith("\r\033[K"));
}

TEST(Progress, OfShortWorkWritesNothing) {
  std::ostringstream out;
  {
    Progress progress({.out = &out, .delay = std::chrono::hours(1)});
    progress.step("no_mask: reference");
  }
  EXPECT_EQ(out.str(), "");
}

TEST(Progress, WithoutATerminalTakesEveryCall) {
  Progress progress;
  progress.expect(2);
  progress.step("a");
  progress.update(1.0);
}

}  // namespace
}  // namespace fmha_bwd
