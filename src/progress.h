// A progress line on stderr for work that takes more than a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

namespace fmha_bwd {

/// What the line shows at one moment.
struct ProgressState {
  std::int64_t step = 0;           // from 1; 0 before the first
  std::int64_t steps = 0;          // 0 where nobody said how many
  std::string label;               // of the step under way
  std::optional<double> fraction;  // of the step, in [0, 1]; nothing where it cannot be known
  std::chrono::seconds elapsed{0};
  std::optional<std::chrono::seconds> left{};  // an estimate; nothing where there is none
};

/// "[2/3] top_left: reference  ━━━━━━────  47%  12 s", at most `width` columns wide; "12 s, 1 min left" where
/// that is known.
std::string progress_line(const ProgressState& state, int width);

/// Draws from a thread of its own, so that a long step without updates is shown too; a disabled one has no
/// thread and writes nothing. All functions may be called from any thread. The line is erased on destruction.
class Progress {
 public:
  struct Settings {
    std::ostream* out = nullptr;  // a terminal; nullptr: disabled
    int width = 80;
    std::chrono::milliseconds delay{1000};  // before the first drawing
    std::chrono::milliseconds interval{100};
    bool estimates = false;  // steps are alike: the time left is told, and the bar is of all of them
  };

  Progress() = default;
  explicit Progress(const Settings& settings);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// How many steps there will be.
  void expect(std::int64_t steps);
  /// The next step begins; it is named `label`, like "top_left: reference".
  void step(std::string_view label);
  /// The step under way is done to this fraction, in [0, 1].
  void update(double fraction);

 private:
  void draw_until_stopped(const std::stop_token& stop);

  Settings settings_;
  std::mutex mutex_;  // of state_
  ProgressState state_;
  std::jthread thread_;
};

}  // namespace fmha_bwd
