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

TEST(ProgressLine, ShowsTheTimeLeft) {
  ProgressState state{2, 9, "a", 0.125, std::chrono::seconds(12), std::chrono::seconds(84)};
  EXPECT_EQ(progress_line(state, 80), "[2/9] a  ━━━─────────────────────  12%  12 s, 84 s left");
  state.left = std::chrono::seconds(3 * 60 + 59);
  EXPECT_THAT(progress_line(state, 80), EndsWith("  12 s, 3 min left"));
  state.left = std::chrono::seconds(2 * 3600 + 5 * 60);
  EXPECT_THAT(progress_line(state, 80), EndsWith("  12 s, 2 h 5 min left"));
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
  int flushes() const { return flushes_; }

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

/// The last line that is drawn where `steps` of `expected` have begun.
std::string last_line(std::int64_t steps, std::int64_t expected) {
  Sink sink;
  std::ostream out(&sink);
  {
    Progress progress({.out = &out,
                       .delay = std::chrono::milliseconds(0),
                       .interval = std::chrono::milliseconds(1),
                       .estimates = true});
    progress.expect(expected);
    for (std::int64_t i = 0; i < steps; ++i) progress.step("a");
    const int before = sink.flushes();
    while (sink.flushes() < before + 2) std::this_thread::yield();
  }
  const std::string text = sink.str();
  const std::size_t end = text.rfind('\r');
  const std::size_t begin = text.rfind('\r', end - 1);
  return text.substr(begin, end - begin);
}

TEST(Progress, EstimatesFromTheStepsThatAreDone) {
  EXPECT_THAT(last_line(3, 8), HasSubstr("[3/8] a"));
  EXPECT_THAT(last_line(3, 8), HasSubstr(" 25%"));
  EXPECT_THAT(last_line(3, 8), HasSubstr(" left"));
}

TEST(Progress, EstimatesNothingBeforeTheFirstStepIsDoneNorBeyondTheLast) {
  EXPECT_THAT(last_line(1, 8), testing::Not(HasSubstr("left")));
  EXPECT_THAT(last_line(9, 8), testing::Not(HasSubstr("left")));
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
