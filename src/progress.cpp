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

}  // namespace

std::string progress_line(const ProgressState& state, int width) {
  std::string head = state.label;
  if (state.steps > 0) head = fmt::format("[{}/{}] {}", state.step, state.steps, head);
  std::string tail = fmt::format("  {} s", state.elapsed.count());
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
    // One column stays free: some terminals wrap a full line.
    *settings_.out << '\r' << progress_line(state_, settings_.width - 1) << kEraseToEnd << std::flush;
    pause = settings_.interval;
    drawn = true;
  }
  if (drawn) *settings_.out << '\r' << kEraseToEnd << std::flush;
}

}  // namespace fmha_bwd
