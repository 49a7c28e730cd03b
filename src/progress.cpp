#include "src/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>

#include "src/text_width.h"

namespace fmha_bwd {
namespace {

constexpr std::string_view kEraseToEnd = "\033[K";

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

/// "  ━━━━────  47%"; the bar is `columns` wide.
std::string bar(double fraction, int columns) {
  const double done = std::isnan(fraction) ? 0.0 : std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(done * columns);
  return fmt::format("  {}{} {:>3}%", repeated("━", filled), repeated("─", columns - filled),
                     static_cast<int>(done * 100.0));
}

/// "12 s", "3 min", "2 h 5 min".
std::string duration_text(std::chrono::seconds time) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  const std::int64_t seconds = time.count();
  if (seconds < 2 * kMinute) return fmt::format("{} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{} min", seconds / kMinute);
  return fmt::format("{} h {} min", seconds / kHour, seconds % kHour / kMinute);
}

/// Of the steps before the one under way, as long as they took.
void estimate(ProgressState& state, std::chrono::steady_clock::duration elapsed) {
  const std::int64_t done = state.step - 1;
  if (done < 1 || state.steps < state.step) return;
  state.fraction = static_cast<double>(done) / static_cast<double>(state.steps);
  state.left = std::chrono::duration_cast<std::chrono::seconds>(elapsed * (state.steps - done) / done);
}

}  // namespace

std::string progress_line(const ProgressState& state, int width) {
  std::string head = state.label;
  if (state.steps > 0) head = fmt::format("[{}/{}] {}", state.step, state.steps, head);
  std::string tail = fmt::format("  {}", duration_text(state.elapsed));
  if (state.left) tail += fmt::format(", {} left", duration_text(*state.left));
  if (state.fraction) {
    const int room = width - static_cast<int>(display_width(head) + display_width(tail)) - 7;
    tail = bar(*state.fraction, std::clamp(room, 0, 24)) + tail;
  }
  return truncated(head + tail, static_cast<std::size_t>(std::max(width, 0)));
}

Progress::Progress(const Settings& settings) : settings_(settings) {
  if (settings_.out == nullptr) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { draw_until_stopped(stop); });
}

void Progress::expect(std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  state_.steps = steps;
}

void Progress::step(std::string_view label) {
  const std::lock_guard lock(mutex_);
  ++state_.step;
  state_.label = label;
  state_.fraction.reset();
}

void Progress::update(double fraction) {
  const std::lock_guard lock(mutex_);
  state_.fraction = fraction;
}

void Progress::draw_until_stopped(const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  std::condition_variable_any never_notified;
  std::chrono::milliseconds pause = settings_.delay;
  bool drawn = false;
  std::unique_lock lock(mutex_);
  while (!never_notified.wait_for(lock, stop, pause, [&stop] { return stop.stop_requested(); })) {
    const auto elapsed = std::chrono::steady_clock::now() - start;
    state_.elapsed = std::chrono::duration_cast<std::chrono::seconds>(elapsed);
    if (settings_.estimates) estimate(state_, elapsed);
    // One column stays free: some terminals wrap a full line.
    *settings_.out << '\r' << progress_line(state_, settings_.width - 1) << kEraseToEnd << std::flush;
    pause = settings_.interval;
    drawn = true;
  }
  if (drawn) *settings_.out << '\r' << kEraseToEnd << std::flush;
}

}  // namespace fmha_bwd
